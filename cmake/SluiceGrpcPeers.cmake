# What proves and measures our gRPC against grpc++, which the server itself does not use: sluice_grpc_messages, the
# messages and stubs of proto/ as grpc++ has them. Its headers compile slowly, so only the release build has it; where
# grpc++ is not installed, there is no such target, and what needs it is left out.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  return()
endif()

# By their names: to ask pkg-config about grpc++ takes longer than all the rest of a configuration.
set(SLUICE_GRPC_LIBRARIES)
foreach(name IN ITEMS grpc++ grpc gpr protobuf absl_synchronization)
  find_library(SLUICE_LIBRARY_${name} ${name})
  mark_as_advanced(SLUICE_LIBRARY_${name})
  list(APPEND SLUICE_GRPC_LIBRARIES "${SLUICE_LIBRARY_${name}}")
endforeach()
find_program(SLUICE_GRPC_PLUGIN grpc_cpp_plugin)
mark_as_advanced(SLUICE_GRPC_PLUGIN)
if("${SLUICE_GRPC_LIBRARIES}" MATCHES "NOTFOUND" OR NOT SLUICE_GRPC_PLUGIN)
  message(STATUS "grpc++ is not installed: its tests and its benchmark are left out")
  return()
endif()

set(generated_dir "${PROJECT_BINARY_DIR}/grpc_messages")
set(generated)
foreach(proto IN LISTS SLUICE_PROTOS)
  string(REGEX REPLACE "\\.proto$" "" name "${proto}")
  foreach(kind IN ITEMS pb grpc.pb)
    list(APPEND generated "${generated_dir}/${name}.${kind}.cc" "${generated_dir}/${name}.${kind}.h")
  endforeach()
endforeach()
file(MAKE_DIRECTORY "${generated_dir}")
add_custom_command(OUTPUT ${generated}
  COMMAND "${SLUICE_PROTOC}" "--proto_path=${SLUICE_PROTO_DIR}" "--cpp_out=${generated_dir}" "--grpc_out=${generated_dir}"
    "--plugin=protoc-gen-grpc=${SLUICE_GRPC_PLUGIN}" ${SLUICE_PROTOS}
  DEPENDS ${SLUICE_PROTO_PATHS}
  VERBATIM)

add_library(sluice_grpc_messages STATIC EXCLUDE_FROM_ALL ${generated})
target_include_directories(sluice_grpc_messages SYSTEM PUBLIC "${generated_dir}")
target_compile_options(sluice_grpc_messages PRIVATE -w -O1)  # Not ours to mend, and not what is measured.
target_link_libraries(sluice_grpc_messages PUBLIC ${SLUICE_GRPC_LIBRARIES})
