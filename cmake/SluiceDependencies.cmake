# The libraries of others that the rooms link, as sluice::<name>. Distributions name their shared libraries differently, so
# the server's binary links archives, and needs nothing but glibc: it runs on other distributions than the one that built it.
# Tests and benchmarks link the shared libraries, which is faster.
set(static_default "${PROJECT_IS_TOP_LEVEL}")
if(SLUICE_SANITIZED)
  set(static_default OFF)
endif()
option(SLUICE_STATIC "Link the server's binary with archives" ${static_default})

# sluice_dependency(<name> <shared target> <archive>...): makes sluice::<name>. A target that has the property SLUICE_STATIC
# links the archives (names without lib and .a), others link the shared target.
function(sluice_dependency name shared)
  add_library(sluice_dependency_${name} INTERFACE)
  add_library(sluice::${name} ALIAS sluice_dependency_${name})
  set(archives)
  foreach(archive IN LISTS ARGN)
    find_library(SLUICE_ARCHIVE_${archive} "lib${archive}.a")
    mark_as_advanced(SLUICE_ARCHIVE_${archive})
    list(APPEND archives "${SLUICE_ARCHIVE_${archive}}")
  endforeach()
  if(NOT SLUICE_STATIC)
    target_link_libraries(sluice_dependency_${name} INTERFACE ${shared})
    return()
  endif()
  if("${archives}" MATCHES "([A-Za-z0-9_]+)-NOTFOUND")
    message(FATAL_ERROR "no archive for ${name}: ${CMAKE_MATCH_1}; install it, or build with -DSLUICE_STATIC=OFF")
  endif()
  target_include_directories(sluice_dependency_${name} SYSTEM INTERFACE
    $<TARGET_PROPERTY:${shared},INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(sluice_dependency_${name} INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:SLUICE_STATIC>>,${archives},${shared}>")
endfunction()

# sluice_link_statically(<target>): links archives of everything but glibc.
function(sluice_link_statically target)
  if(SLUICE_STATIC)
    set_target_properties(${target} PROPERTIES SLUICE_STATIC ON)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

set(SLUICE_YAML_CPP yaml-cpp)
if(TARGET yaml-cpp::yaml-cpp)  # Since 0.8.
  set(SLUICE_YAML_CPP yaml-cpp::yaml-cpp)
endif()
pkg_check_modules(libcrypto QUIET libcrypto)
set(re2_archives ${re2_STATIC_LIBRARIES})  # Newer ones need parts of Abseil.
set(crypto_archives crypto ${libcrypto_STATIC_LIBRARIES})  # Newer ones need zlib and zstd.
list(REMOVE_DUPLICATES crypto_archives)
foreach(archives IN ITEMS re2_archives crypto_archives)
  list(REMOVE_ITEM ${archives} atomic dl m pthread rt)  # Of the system.
endforeach()
sluice_dependency(yaml ${SLUICE_YAML_CPP} yaml-cpp)
sluice_dependency(re2 PkgConfig::re2 ${re2_archives})
sluice_dependency(crypto OpenSSL::Crypto ${crypto_archives})
sluice_dependency(ssl OpenSSL::SSL ssl ${crypto_archives})
if(PROJECT_IS_TOP_LEVEL)
  sluice_dependency(nghttp2 PkgConfig::nghttp2 nghttp2)
  sluice_dependency(zlib ZLIB::ZLIB z)
endif()
