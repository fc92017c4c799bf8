# What `cmake --install` puts in place, as two components. `library`: the headers, one archive, how to find them. `server`: the
# binary, its systemd unit, settings and rules, manual pages and completion.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(SLUICE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sluice" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT library
  FILES_MATCHING PATTERN "*.h")
install(TARGETS sluice EXPORT sluiceTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT sluiceTargets NAMESPACE sluice:: DESTINATION "${SLUICE_PACKAGE_DIR}" COMPONENT library)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sluiceConfig.cmake" INSTALL_DESTINATION "${SLUICE_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sluiceConfig.cmake" "${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake"
  DESTINATION "${SLUICE_PACKAGE_DIR}" COMPONENT library)

string(REGEX REPLACE "[^/]+" ".." SLUICE_PC_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_file("${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in" "${PROJECT_BINARY_DIR}/sluice.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sluice.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)

if(TARGET sluice_server_binary)
  install(TARGETS sluice_server_binary RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT server)
  install(FILES "${PROJECT_SOURCE_DIR}/src/server/example_rules.yaml" DESTINATION "${CMAKE_INSTALL_DATADIR}/sluice"
    COMPONENT server)
  find_program(SLUICE_PYTHON python3)  # Makes a manual page of docs/rules.md.
  mark_as_advanced(SLUICE_PYTHON)
  install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
    set(binary \"$<TARGET_FILE:sluice_server_binary>\")
    set(bindir \"${CMAKE_INSTALL_BINDIR}\")
    set(datadir \"${CMAKE_INSTALL_DATADIR}\")
    set(python \"${SLUICE_PYTHON}\")
    set(version \"${PROJECT_VERSION}\")" COMPONENT server)
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/SluiceInstallServer.cmake" COMPONENT server)
endif()
