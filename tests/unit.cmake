# Unit tests: tests/test_*.c, each a cmocka program linked with the static library, so that it may call px_ functions.
# Platforms without cmocka have the part of its interface that is used from cmocka_shim/.
add_library(pelt_cmocka INTERFACE)
if(PELT_CMOCKA)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    target_link_libraries(pelt_cmocka INTERFACE PkgConfig::CMOCKA)
else()
    target_include_directories(pelt_cmocka INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/cmocka_shim)
endif()
if(WIN32)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=binmode.o OUTPUT_VARIABLE binmode OUTPUT_STRIP_TRAILING_WHITESPACE)
    target_link_libraries(pelt_cmocka INTERFACE ${binmode}) # fopen() keeps line ends
endif()
file(GLOB TEST_SOURCES CONFIGURE_DEPENDS test_*.c)
if(NOT PELT_PNG) # which these call themselves
    list(FILTER TEST_SOURCES EXCLUDE REGEX "/test_(painted|view)\\.c$")
endif()
if(WIN32)
    list(FILTER TEST_SOURCES EXCLUDE REGEX "/test_(posix_|rig_measures)") # POSIX themselves, or by bench/
endif()
foreach(source ${TEST_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/scenes)
    target_link_libraries(${name} PRIVATE pelt_flags pelt_scenes pelt_static pelt_cmocka m)
    target_compile_definitions(${name} PRIVATE TEST_PICTURES=$<BOOL:${PELT_PNG}> TEST_MESHOPTIMIZER=$<BOOL:${PELT_MESHOPTIMIZER}>)
    if(CMAKE_CROSSCOMPILING) # compiling the tests would take longer than most of them
        target_compile_options(${name} PRIVATE -O1)
    endif()
    if(PELT_SANITIZE MATCHES "undefined") # is looked for in the library: in the tests it would take half of their compilation
        target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
    endif()
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${PELT_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
    # test_repeat repeats what other tests call once; test_scenes and test_decompose_quality check figures of code that others run too.
    if(NOT name MATCHES "^test_(repeat|scenes|decompose_quality)$")
        set_tests_properties(${name} PROPERTIES LABELS sanitized)
    endif()
    pelt_test_parts(${name} ${source})
endforeach()
# What `make test` runs under the thread sanitizer: together they enter every parallel loop (px_parallel) with several threads. Tests that
# enter the same loops again are left to `make test-all`.
set(THREAD_TESTS bind_apply bind_geodesic bind_limbs bind_prefer bind_volume collide_frames core correct crowd decompose_corrected decompose_host
    decompose_reduce decompose_sma eigenskin eigenskin_weights helpers light measure mesh normals numeric run_pose run_prepare run_skin simplify sliders study view_modes
    view_parts voxel voxel_blocks weights_transfer)
list(TRANSFORM THREAD_TESTS PREPEND test_)
set_property(TEST ${THREAD_TESTS} APPEND PROPERTY LABELS threads)
add_custom_target(thread_tests DEPENDS ${THREAD_TESTS})
# Readers and writers: what scripts/platforms.sh runs on a machine whose bytes are in the other order.
set(FORMAT_TESTS abc abc_write asf caches core_validate fbx gltf gltf_compress gltf_draco gltf_driver gltf_order gltf_rig gltf_sparse gltf_weights gltf_write
    io join json libm mesh motion numbers obj platform ply settings shading sort text usd vat weights_table)
list(TRANSFORM FORMAT_TESTS PREPEND test_)
set_property(TEST ${FORMAT_TESTS} APPEND PROPERTY LABELS formats)
add_custom_target(format_tests DEPENDS ${FORMAT_TESTS} fuzz_targets)
# The longest ones begin first, so that none of them is left to run alone at the end.
set_tests_properties(test_group test_failing test_budget test_decompose_given test_decompose_kinds test_decompose_reduce test_decompose_quality
    test_decompose_sma test_decompose_corrected test_jiggle test_jiggle_bake test_repeat PROPERTIES COST 50)
if(TARGET test_rig_measures)
    target_link_libraries(test_rig_measures PRIVATE pelt_bench)
endif()
if(PELT_PNG)
    target_link_libraries(test_painted PRIVATE PNG::PNG) # kinds of pictures that the library does not write
endif()
