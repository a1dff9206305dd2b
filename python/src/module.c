/* The module pelt._pelt. Its functions are private: pelt/__init__.py has what users call. */
#include "binding.h"

PyMODINIT_FUNC PyInit__pelt(void);

PyMODINIT_FUNC PyInit__pelt(void) {
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "pelt._pelt", .m_size = -1};
    PyObject *module = PyModule_Create(&definition);
    if (module && add_errors(module) && array_add_type(module) && model_add_type(module) && live_add_types(module) &&
        PyModule_AddFunctions(module, model_functions) == 0 && PyModule_AddFunctions(module, verb_functions) == 0 &&
        PyModule_AddFunctions(module, live_functions) == 0 &&
        PyModule_AddStringConstant(module, "version", pelt_version()) == 0)
        return module;
    Py_XDECREF(module);
    return NULL;
}
