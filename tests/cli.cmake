# Tests of the program: tests/cli/*.sh, POSIX shell, run in a folder of their own. A new script needs no line here.
file(GLOB CLI_TESTS CONFIGURE_DEPENDS cli/*.sh)
list(FILTER CLI_TESTS EXCLUDE REGEX "/lib\\.sh$")
if(WIN32)
    set(PELT_CLI_ENVIRONMENT "PELT_WINDOWS=1;")
endif()
foreach(script ${CLI_TESTS})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME cli_${name} COMMAND sh ${script})
    set_tests_properties(cli_${name} PROPERTIES TIMEOUT ${PELT_TEST_TIMEOUT} SKIP_RETURN_CODE 77
        ENVIRONMENT "${PELT_CLI_ENVIRONMENT}PELT=${PELT_COMMANDS}/pelt;PELT_SCENES=${PELT_COMMANDS}/pelt-scenes")
    pelt_test_parts(cli_${name} ${script})
endforeach()
