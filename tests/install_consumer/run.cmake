# Installs the build in BUILD_DIR to a fresh prefix, then builds and runs the project beside this file
# against what was installed, and nothing else.
file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# With a component the list of installed files has a name of its own: `install_manifest.txt` belongs to root after an
# install with sudo.
foreach(component IN ITEMS library server)
  run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}" --component ${component})
endforeach()
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")

# The same without CMake.
set(ENV{PKG_CONFIG_PATH} "${prefix}/lib/pkgconfig")
execute_process(COMMAND pkg-config --cflags --libs sluice OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
  OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags UNIX_COMMAND "${flags} ${CXX_FLAGS}")
run(${CXX_COMPILER} -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/main.cc" ${flags} -o "${WORK_DIR}/with_pkg_config")
run("${WORK_DIR}/with_pkg_config")

foreach(file IN ITEMS bin/sluice share/bash-completion/completions/sluice share/man/man1/sluice.1 share/man/man5/sluice-rules.5
    share/sluice/example_rules.yaml etc/sluice/rules.yaml)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(READ "${prefix}/lib/systemd/system/sluice.service" unit)
if(NOT unit MATCHES "\nExecStart=${prefix}/bin/sluice serve --config ${prefix}/etc/sluice/sluice.yaml\n")
  message(FATAL_ERROR "the unit does not start the program that was installed with it:\n${unit}")
endif()
run("${prefix}/bin/sluice" serve --config "${prefix}/etc/sluice/sluice.yaml" --print-config)
run("${prefix}/bin/sluice" check-config "${prefix}/etc/sluice/rules.yaml")

# Settings of the administrator stay.
file(APPEND "${prefix}/etc/sluice/sluice.yaml" "# changed\n")
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}" --component server)
file(READ "${prefix}/etc/sluice/sluice.yaml" settings)
if(NOT settings MATCHES "# changed")
  message(FATAL_ERROR "an installation has replaced settings that were changed")
endif()
