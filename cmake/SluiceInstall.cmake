# What `cmake --install` puts in place: the headers, one archive, how to find them, the server, its
# systemd unit and example rules.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(SLUICE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sluice" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
install(TARGETS sluice EXPORT sluiceTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT sluiceTargets NAMESPACE sluice:: DESTINATION "${SLUICE_PACKAGE_DIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sluiceConfig.cmake" INSTALL_DESTINATION "${SLUICE_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sluiceConfig.cmake" "${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake"
  DESTINATION "${SLUICE_PACKAGE_DIR}")

string(REGEX REPLACE "[^/]+" ".." SLUICE_PC_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_file("${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in" "${PROJECT_BINARY_DIR}/sluice.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sluice.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(TARGET sluice_server_binary)
  install(TARGETS sluice_server_binary RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${PROJECT_SOURCE_DIR}/src/server/example_rules.yaml" DESTINATION "${CMAKE_INSTALL_DATADIR}/sluice")
  # The unit starts the program that is installed with it; the prefix is only known when it is installed.
  install(CODE "file(READ \"${PROJECT_SOURCE_DIR}/deploy/sluice.service\" unit)
    string(REPLACE \"/usr/bin/sluice\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/sluice\" unit \"\${unit}\")
    set(file \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/sluice.service\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${unit}\")")
endif()
