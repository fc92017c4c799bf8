# Precompiled headers: the standard library once for all rooms, and with GoogleTest once for all tests. They only save
# compile time; every file still includes what it uses, which header_check and clang-tidy see, because neither has them.
option(SLUICE_PRECOMPILE "Precompile the standard library's headers" ${PROJECT_IS_TOP_LEVEL})

set(SLUICE_PRECOMPILED_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <functional> <map> <memory>
  <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# _sluice_precompiled_target(<target> <header>...): compiles the headers, with the flags of who will reuse them.
function(_sluice_precompiled_target target)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/precompiled/${target}.cc" CONTENT "// A target needs a source.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/precompiled/${target}.cc")
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

if(SLUICE_PRECOMPILE)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # ccache compares the contents.
  endif()
  _sluice_precompiled_target(sluice_precompiled ${SLUICE_PRECOMPILED_HEADERS})
  if(SLUICE_BUILD_TESTS)
    _sluice_precompiled_target(sluice_precompiled_tests ${SLUICE_PRECOMPILED_HEADERS} <gmock/gmock.h>)
    target_link_libraries(sluice_precompiled_tests PRIVATE GTest::gmock)
    sluice_test_options(sluice_precompiled_tests)
  endif()
endif()

# sluice_precompile(<target> ROOM|TEST): let the target use them; its flags must be those of its kind.
function(sluice_precompile target kind)
  if(NOT SLUICE_PRECOMPILE)
    return()
  endif()
  if(kind STREQUAL "TEST")
    target_precompile_headers(${target} REUSE_FROM sluice_precompiled_tests)
  else()
    target_precompile_headers(${target} REUSE_FROM sluice_precompiled)
  endif()
endfunction()
