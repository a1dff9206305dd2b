# Compiler flags of all targets.
add_library(pelt_flags INTERFACE)
target_compile_options(pelt_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes> -Wpointer-arith -Wcast-qual
    -Wwrite-strings -Wundef -Wvla -Wconversion -Wno-sign-conversion
    $<$<C_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments -Wno-implicit-float-conversion>
    $<$<C_COMPILER_ID:GNU>:-Wno-float-conversion>
    -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math
    # gcc 12 loses the rounding of (double)(float)x where it joins statements to vectors: results would depend on the compiler.
    $<$<C_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
target_compile_definitions(pelt_flags INTERFACE _GNU_SOURCE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    # gcc 12 ends with an internal error when it vectorises sums of these.
    target_compile_options(pelt_flags INTERFACE -fno-builtin-fmax -fno-builtin-fmaxf -fno-builtin-fmin -fno-builtin-fminf)
endif()
if(EMSCRIPTEN)
    # clang 14 joins statements to vectors of WebAssembly that compute something else (scenes/softbody.c).
    target_compile_options(pelt_flags INTERFACE -fno-slp-vectorize)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "s390x" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # In ISO C, gcc would compute floats as doubles there.
    target_compile_options(pelt_flags INTERFACE -fexcess-precision=fast)
endif()
if(MINGW AND NOT CMAKE_CROSSCOMPILING) # as in cmake/windows.cmake
    target_compile_options(pelt_flags INTERFACE -Wa,-muse-unaligned-vector-move)
    target_link_options(pelt_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static;LINKER:--stack,8388608>)
endif()
if(PELT_WERROR)
    target_compile_options(pelt_flags INTERFACE -Werror)
endif()
if(PELT_SANITIZE)
    target_compile_options(pelt_flags INTERFACE -fsanitize=${PELT_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    target_link_options(pelt_flags INTERFACE -fsanitize=${PELT_SANITIZE})
    # ld takes twice as long for the tests, each of which is linked with an instrumented library.
    find_program(PELT_LLD ld.lld)
    if(PELT_LLD AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
        target_link_options(pelt_flags INTERFACE -fuse-ld=lld)
    endif()
endif()
if(PELT_FUZZ)
    # Coverage counters for libFuzzer in everything; its main only in the targets (fuzz/CMakeLists.txt). Without checks of
    # every pointer, whose comparisons libFuzzer would record: AddressSanitizer reports what matters of them, and the
    # replay of the corpora with the preset asan makes them.
    target_compile_options(pelt_flags INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize=null,alignment,pointer-overflow)
    target_link_options(pelt_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# pelt_command(TARGET): gives a program a command of its name on platforms where its file is none: WebAssembly runs in node.
function(pelt_command target)
    if(EMSCRIPTEN)
        file(GENERATE OUTPUT ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${target}
            CONTENT "#!/bin/sh\nexec node ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${target}.js \"$@\"\n"
            FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
        file(WRITE ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/package.json "{\"type\": \"commonjs\"}\n")
    endif()
endfunction()
