# Installs the build in BUILD_DIR to a fresh prefix, then builds and runs the project beside this file
# against what was installed, and nothing else.
file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# With a component the list of installed files has a name of its own: `install_manifest.txt` belongs to root after an
# install with sudo. The project names no components, so this one is everything.
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}" --component Unspecified)
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")
foreach(file IN ITEMS bin/sluice lib/systemd/system/sluice.service share/sluice/example_rules.yaml)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(READ "${prefix}/lib/systemd/system/sluice.service" unit)
if(NOT unit MATCHES "\nExecStart=${prefix}/bin/sluice serve\n")
  message(FATAL_ERROR "the unit does not start the program that was installed with it:\n${unit}")
endif()
run("${prefix}/bin/sluice" check-config "${prefix}/share/sluice/example_rules.yaml")
