# The kinds of target that Sluice is built from. A room's CMakeLists.txt names every file of the room.
include(GoogleTest)

# What the sanitizers run, and what is left to the release build.
if(SLUICE_BUILD_TESTS)
  add_custom_target(unit_tests)
  add_custom_target(integration_tests)
  add_custom_target(thread_tests)
endif()

# Compiles the sources of a room, or of a test, as one file, several times faster than one by one. Names in unnamed
# namespaces are unique in a room and in a test. The dev preset compiles each source by itself.
option(SLUICE_UNITY "Compile each room as one file" ${PROJECT_IS_TOP_LEVEL})

# sluice_unity(<target>): compile its sources as one file.
function(sluice_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SLUICE_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

macro(_sluice_arguments function)
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

# sluice_room(<room> SOURCES <file>... [HEADERS <file>...] [DEPS <target>...])
# The static library sluice_<room>, known to others as sluice::<room>. Includes are written relative to
# src/; `header_check` compiles each header by itself.
function(sluice_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPS")
  _sluice_arguments("sluice_room(${room})")
  set(target sluice_${room})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(sluice::${room} ALIAS ${target})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${arg_DEPS})
  sluice_precompile(${target} ROOM)
  sluice_unity(${target})
  if(arg_HEADERS)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${arg_HEADERS})
    sluice_check_headers(${target})
  endif()
endfunction()

# sluice_testing(<room> SOURCES <file>... HEADERS <file>... [DEPS <target>...])
# What the tests of this room, and of the rooms that build on it, share: sluice::<room>_testing.
function(sluice_testing room)
  if(SLUICE_BUILD_TESTS)
    sluice_room(${room}_testing ${ARGN})
    target_link_libraries(sluice_${room}_testing PUBLIC sluice::${room} GTest::gmock)
  endif()
endfunction()

# sluice_test(<room>_test SOURCES <file>... [DEPS <target>...] [LABEL unit|integration] [TIMEOUT <seconds>] [THREADS]
#   [SEPARATE <file>...])
# One GoogleTest executable; ctest knows each of its cases as <room>_test/<Suite>.<Case>, and under sanitizers all of them as
# <room>_test. THREADS: it has several threads, and CI runs it under ThreadSanitizer. SEPARATE: those of its files that use names
# of others, and are compiled by themselves.
function(sluice_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "LABEL;TIMEOUT" "SOURCES;DEPS;SEPARATE")
  _sluice_arguments("sluice_test(${name})")
  if(NOT SLUICE_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock_main)
  add_dependencies(${arg_LABEL}_tests ${name})
  if(arg_THREADS)
    add_dependencies(thread_tests ${name})
    string(APPEND arg_LABEL "_threads")  # gtest_discover_tests passes on one label only.
  endif()
  sluice_unity(${name})
  if(arg_SEPARATE)
    set_source_files_properties(${arg_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  sluice_test_options(${name})
  sluice_precompile(${name} TEST)
  if(SLUICE_SANITIZED)
    # One process for all cases: with a sanitizer, it takes longer to start a test than to run most cases.
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 900)
    return()
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}/"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# Assertions take long to optimize, and gain nothing; instrumented ones all the more. glibc's checks of buffers would need
# the optimizer.
function(sluice_test_options target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT SLUICE_SANITIZED)
    target_compile_options(${target} PRIVATE -O1)
  else()
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# sluice_bench(<name> SOURCES <file>... [DEPS <target>...])
# A program that measures, and writes its figures to the file given with --json.
function(sluice_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  _sluice_arguments("sluice_bench(${name})")
  if(SLUICE_BUILD_BENCH)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_DEPS})
  endif()
endfunction()

# sluice_fuzz(<name> SOURCES <file>... [DEPS <target>...])
# The executable fuzz_<name>, and a test that replays fuzz/corpus/<name>/, so that fixed findings stay fixed.
function(sluice_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  _sluice_arguments("sluice_fuzz(${name})")
  set(target fuzz_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  sluice_precompile(${target} ROOM)
  add_dependencies(unit_tests ${target})
  add_dependencies(fuzzers ${target})
  add_test(NAME fuzz/${name}_corpus COMMAND ${target} -runs=0 "-artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/"
    "${PROJECT_SOURCE_DIR}/fuzz/corpus/${name}")
  set_tests_properties(fuzz/${name}_corpus PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# sluice_check_headers(<target>): let `header_check` compile each header of the target by itself.
function(sluice_check_headers target)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${SLUICE_BUILD_TESTS})
endfunction()
