# What `cmake --install` puts in place: the library (shared and static), headers, pkg-config and CMake package files;
# and of the program, itself, its manual pages and its completions.
include(CMakePackageConfigHelpers)

install(TARGETS pelt_shared pelt_static EXPORT pelt)
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY include/pelt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# Both files find their prefix from where they lie, so an installed tree may be moved.
set(PELT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)
install(EXPORT pelt NAMESPACE pelt:: FILE peltTargets.cmake DESTINATION ${PELT_PACKAGE_DIR})
configure_package_config_file(cmake/peltConfig.cmake.in peltConfig.cmake INSTALL_DESTINATION ${PELT_PACKAGE_DIR})
write_basic_package_version_file(peltConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/peltConfig.cmake ${CMAKE_BINARY_DIR}/peltConfigVersion.cmake
    DESTINATION ${PELT_PACKAGE_DIR})

file(RELATIVE_PATH PELT_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/pelt.pc.in pelt.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/pelt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
