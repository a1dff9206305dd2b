# What `cmake --install` puts in place: two libraries (shared and static), headers, pkg-config and CMake package files; of the
# program, itself, its manual pages and its completions.
include(CMakePackageConfigHelpers)

install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY include/pelt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# Package files find their prefix from where they lie, so an installed tree may be moved.
file(RELATIVE_PATH PELT_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

# pelt_package(NAME TARGETS…): find_package(NAME) and pkg-config NAME.
function(pelt_package name)
    if(NOT PELT_SHARED)
        list(FILTER ARGN EXCLUDE REGEX "_shared$")
    endif()
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
    install(TARGETS ${ARGN} EXPORT ${name})
    install(EXPORT ${name} NAMESPACE pelt:: FILE ${name}Targets.cmake DESTINATION ${folder})
    configure_package_config_file(cmake/${name}Config.cmake.in ${name}Config.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/${name}Config.cmake ${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake DESTINATION ${folder})
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

list(TRANSFORM PELT_KINDS PREPEND pelt_run_ OUTPUT_VARIABLE PELT_RUN_TARGETS)
list(TRANSFORM PELT_KINDS PREPEND pelt_ OUTPUT_VARIABLE PELT_TARGETS)
pelt_package(pelt-run ${PELT_RUN_TARGETS})
if(NOT PELT_RUN_ONLY)
    pelt_package(pelt ${PELT_TARGETS})
endif()
