# What is shipped is hardened: an error in memory that slipped through ends the process instead of going on with it.
# Release builds only, since sanitizers find more and don't go together with some of it. For all targets alike: a
# precompiled header is only good for equal flags. `./dev bench engine` shows what it costs; tests/binary checks that
# the binary has it.
set(SLUICE_HARDENED OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT SLUICE_SANITIZED)
  set(SLUICE_HARDENED ON)
endif()
if(NOT SLUICE_HARDENED)
  return()
endif()

add_compile_options(-fstack-protector-strong -fstack-clash-protection)
add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
add_compile_options(-D_GLIBCXX_ASSERTIONS)  # Of what is in range: vectors, spans, views, optionals.
add_compile_options(-fPIE)
add_link_options(-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-fcf-protection=full)  # CET: indirect branch tracking and shadow stacks.
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With assertions GCC 12 sees errors in std::string and std::optional that can't be.
  add_compile_options(-Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()
