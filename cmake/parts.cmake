# Optional parts of the library. Each switch that is on finds what it needs, or says how to build without.
#   PELT_PACKAGES      imported targets
#   PELT_LIBRARIES     libraries without one: by path here, by name in installed packages
#   PELT_PC_LIBRARIES  both, for pkg-config
#   PELT_PC_PACKAGES   CMake packages that installed packages look for
option(PELT_RUN_ONLY "Build only the run-time library libpelt-run" OFF)
option(PELT_PAGE "Pages for browsers (bundled by node). Without node and npm packages: off" ON)
option(PELT_PNG "Pictures (libpng)" ON)
option(PELT_DRACO "Read glTF files with KHR_draco_mesh_compression (libdraco, C++)" ON)
option(PELT_MESHOPTIMIZER "Read glTF files with EXT_meshopt_compression (meshoptimizer)" ON)

option(PELT_MPI "The program runs as several processes that share the work (Open MPI)" OFF)
option(PELT_MPI_PROGRAM "Beside a program without MPI, pelt-mpi with it" OFF)

# pelt_find_library(SWITCH NAME PACKAGE): a library without a CMake package.
macro(pelt_find_library switch name package)
    find_library(PELT_LIBRARY_${name} ${name})
    if(NOT PELT_LIBRARY_${name})
        message(FATAL_ERROR "lib${name} is not here: run scripts/setup, install ${package}, or build with -D${switch}=OFF")
    endif()
    list(APPEND PELT_LIBRARIES $<BUILD_INTERFACE:${PELT_LIBRARY_${name}}> $<INSTALL_INTERFACE:${name}>)
    string(APPEND PELT_PC_LIBRARIES " -l${name}")
endmacro()
# pelt_find_package(SWITCH NAME TARGET LIBRARY PACKAGE)
macro(pelt_find_package switch name target library package)
    find_package(${name})
    if(NOT ${name}_FOUND)
        message(FATAL_ERROR "${name} is not here: run scripts/setup, install ${package}, or build with -D${switch}=OFF")
    endif()
    list(APPEND PELT_PACKAGES ${target})
    string(APPEND PELT_PC_LIBRARIES " -l${library}")
    string(APPEND PELT_PC_PACKAGES "find_dependency(${name})\n")
endmacro()

set(PELT_KINDS static) # of libraries
if(PELT_SHARED)
    list(PREPEND PELT_KINDS shared)
endif()
if(NOT PELT_SHARED)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a) # of other libraries, too
endif()
set(PELT_PROGRAM_LIBRARY pelt_static) # what the program links
if(PELT_SHARED AND NOT WIN32)
    set(PELT_PROGRAM_LIBRARY pelt_shared)
endif()

if(NOT WIN32) # whose threads are in its base library
    find_package(Threads REQUIRED)
    set(PELT_THREADS Threads::Threads)
endif()
if(PELT_MPI OR PELT_MPI_PROGRAM)
    find_package(MPI COMPONENTS C)
    if(NOT MPI_C_FOUND)
        message(FATAL_ERROR "MPI is not here: run scripts/setup, install libopenmpi-dev and openmpi-bin, or build with -DPELT_MPI=OFF -DPELT_MPI_PROGRAM=OFF")
    endif()
endif()
find_program(NODE node)
if(NOT PELT_RUN_ONLY)
    if(PELT_MESHOPTIMIZER)
        pelt_find_package(PELT_MESHOPTIMIZER meshoptimizer meshoptimizer::meshoptimizer meshoptimizer libmeshoptimizer-dev)
    endif()
    if(PELT_PNG)
        pelt_find_package(PELT_PNG PNG PNG::PNG png libpng-dev)
    endif()
    if(PELT_DRACO)
        enable_language(CXX)
        set(CMAKE_CXX_STANDARD 17)
        set(CMAKE_CXX_STANDARD_REQUIRED ON)
        set(CMAKE_CXX_EXTENSIONS OFF)
        pelt_find_library(PELT_DRACO draco libdraco-dev)
        find_path(PELT_DRACO_INCLUDE draco/draco_features.h REQUIRED)
        list(APPEND PELT_LIBRARIES stdc++)
        string(APPEND PELT_PC_LIBRARIES " -lstdc++")
    endif()
    if(PELT_PAGE AND NOT (NODE AND EXISTS ${PROJECT_SOURCE_DIR}/node_modules/esbuild))
        message(WARNING "node or its packages are not here: this build makes no pages (pelt view, --report). "
            "Run scripts/setup, or install nodejs and npm and run npm ci")
        set(PELT_PAGE OFF)
    endif()
endif()

# pelt_test_parts(TEST SOURCE): a test whose source uses pages is disabled in builds without them. Tests of other parts tell by themselves
# whether the build has them.
function(pelt_test_parts test source)
    file(READ ${source} text)
    if(NOT PELT_PAGE AND text MATCHES "--report|[.]html|pelt_page_|px_page_")
        set_tests_properties(${test} PROPERTIES DISABLED TRUE)
    endif()
endfunction()
