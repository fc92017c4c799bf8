# What `cmake --install` puts in place: the headers, one archive, how to find them, and the server.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(SLUICE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sluice" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
install(TARGETS sluice EXPORT sluiceTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(SLUICE_LTO)
  # Bytecode is only good for the very compiler that wrote it.
  install(CODE "execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --wildcard --remove-section=.gnu.lto_*
    --remove-section=.gnu.debuglto_* \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsluice.a\"
    COMMAND_ERROR_IS_FATAL ANY)")
endif()
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
endif()
