# Toolchain of the preset wasm: emscripten with 128-bit SIMD. EMSCRIPTEN names the folder of another emscripten than the one in the path.
if(DEFINED ENV{EMSCRIPTEN})
    set(PELT_EMSCRIPTEN $ENV{EMSCRIPTEN})
else()
    execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE PELT_EMSCRIPTEN OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS ${PELT_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake)
    message(FATAL_ERROR "emscripten is not here: run scripts/setup platforms, or install emscripten and node-acorn")
endif()
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
include(${PELT_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake)

set(CMAKE_C_FLAGS_INIT "-msimd128")
# A matrix product has 200 kB of buffers on the stack, which lies below everything else, so that an overflow ends the program and writes
# nowhere. Memory grows up to the 4 GB of 32-bit addresses. Programs (not the npm package, wasm/CMakeLists.txt) run in node and use its
# files; their link is quick, not small.
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-sTOTAL_STACK=4MB -Wl,--stack-first -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sWASM_BIGINT=1 -sNODERAWFS=1 -sEXIT_RUNTIME=1 -sWASM_ASYNC_COMPILATION=0 -O1")
