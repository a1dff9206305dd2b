/* The ten lines that another project would begin with; compiled as C and as C++. */
#include <pelt/pelt.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    pelt_context *context = NULL;
    pelt_model *model = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || pelt_model_create(context, &model) != PELT_OK)
        return 1;
    printf("pelt %s\n", pelt_version());
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return strcmp(pelt_version(), PELT_VERSION) != 0;
}
