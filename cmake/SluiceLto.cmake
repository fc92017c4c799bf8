# Link-time optimisation, for release builds with GCC. Rooms are compiled to objects that hold both
# machine code and bytecode: the server and the benchmarks are linked from the bytecode, the tests (many,
# and linked often) from the machine code.
set(SLUICE_LTO OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckIPOSupported)
  check_ipo_supported(RESULT SLUICE_LTO LANGUAGES CXX)
endif()

# sluice_lto(<target> OBJECTS|LINK|SKIP): compile with bytecode; link from bytecode; link without it.
function(sluice_lto target what)
  if(NOT SLUICE_LTO)
    return()
  endif()
  if(what STREQUAL "OBJECTS")
    target_compile_options(${target} PRIVATE -flto=auto -ffat-lto-objects)
  elseif(what STREQUAL "LINK")
    target_compile_options(${target} PRIVATE -flto=auto)
    target_link_options(${target} PRIVATE -flto=auto)
  elseif(what STREQUAL "SKIP")
    target_link_options(${target} PRIVATE -fno-lto)
  else()
    message(FATAL_ERROR "sluice_lto(${target} ${what}): expected OBJECTS, LINK or SKIP")
  endif()
endfunction()
