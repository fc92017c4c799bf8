# What depends on the prefix, or is printed by the binary; runs as a part of `cmake --install`. SluiceInstall.cmake sets the
# variables `source`, `binary`, `bindir`, `datadir`, `python` and `version`.
set(etc "${CMAKE_INSTALL_PREFIX}/etc/sluice")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(etc "/etc/sluice")
endif()

# write(<file> <text>): as install(FILES) does.
function(write file text)
  message(STATUS "Installing: $ENV{DESTDIR}${file}")
  file(WRITE "$ENV{DESTDIR}${file}" "${text}")
endfunction()

# write_output(<file> <program> [<argument>...]): writes what the program prints.
function(write_output file)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  write("${file}" "${text}")
endfunction()

# write_configured(<file> <source>): writes the source with the paths of this installation.
function(write_configured file name)
  file(READ "${source}/${name}" text)
  string(REPLACE "/usr/bin/sluice" "${CMAKE_INSTALL_PREFIX}/${bindir}/sluice" text "${text}")
  string(REPLACE "/etc/sluice" "${etc}" text "${text}")
  write("${file}" "${text}")
endfunction()

write_configured("${CMAKE_INSTALL_PREFIX}/lib/systemd/system/sluice.service" deploy/sluice.service)
if(NOT EXISTS "$ENV{DESTDIR}${etc}/sluice.yaml")  # Settings and rules belong to the administrator.
  write_configured("${etc}/sluice.yaml" deploy/etc/sluice.yaml)
endif()
if(NOT EXISTS "$ENV{DESTDIR}${etc}/rules.yaml")
  write_configured("${etc}/rules.yaml" src/server/example_rules.yaml)
endif()
set(share "${CMAKE_INSTALL_PREFIX}/${datadir}")
write_output("${share}/bash-completion/completions/sluice" "${binary}" completion bash)
write_output("${share}/man/man1/sluice.1" "${binary}" help --man)
if(python)
  write_output("${share}/man/man5/sluice-rules.5" "${python}" -B "${source}/cmake/rules_manual.py" "${source}/docs/rules.md"
    "${version}")
else()
  message(STATUS "Not installed, because there is no python3: sluice-rules(5)")
endif()
