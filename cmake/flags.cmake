# SPDX-License-Identifier: Apache-2.0
#
# Compiler flags shared by all of our own targets, carried by the interface target infold_flags.
# Nothing here may change what the protocol does; flags pick checks and speed only.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # One archive serves the binary and shared libraries.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(infold_flags INTERFACE)
target_include_directories(infold_flags INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")

set(warnings_c -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wcast-align -Wformat=2)
set(warnings_cxx ${warnings_c} -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
                 -Wdouble-promotion -Wextra-semi
                 # Options structs name the fields that matter and leave the rest to defaults.
                 -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these from inside std::string, std::optional and fmt once it has inlined them.
  # What they look for is found by the same tests under asan, and by clang's own warnings.
  list(APPEND warnings_cxx -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                           -Wno-stringop-overread -Wno-array-bounds)
else()
  # clang means more by -Wconversion and -Wdouble-promotion than g++ does: changes of sign, and
  # float added to long double, which oracles do. What passes with one should pass with the other.
  list(APPEND warnings_cxx -Wno-sign-conversion -Wno-double-promotion)
endif()
if(INFOLD_WERROR)
  list(APPEND warnings_c -Werror)
  list(APPEND warnings_cxx -Werror)
endif()
target_compile_options(infold_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${warnings_c}>" "$<$<COMPILE_LANGUAGE:CXX>:${warnings_cxx}>"
  # A result's bits must not depend on which vector target runs, so the compiler may not fuse a
  # multiply and an add behind our back. g++ does by default wherever a target has FMA.
  -ffp-contract=off
  # Nobody replaces our functions at load time; position-independent code must otherwise allow for
  # it, and then g++ inlines no function into another of its file.
  -fno-semantic-interposition
  # Messages name files as the repository does, and binaries tell nothing about who built them. The
  # second spelling is what ccache makes of the first.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" -ffile-prefix-map=../../=)
target_compile_definitions(infold_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(INFOLD_SANITIZERS)
  target_compile_options(infold_flags INTERFACE
    "-fsanitize=${INFOLD_SANITIZERS}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(infold_flags INTERFACE "-fsanitize=${INFOLD_SANITIZERS}")
  if(INFOLD_SANITIZERS MATCHES "thread" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(ignorelist "${PROJECT_SOURCE_DIR}/cmake/tsan_ignore.txt")
    target_compile_options(infold_flags INTERFACE "-fsanitize-ignorelist=${ignorelist}")
  endif()
  # For tests that measure memory or time; clang and g++ have no macro in common.
  target_compile_definitions(infold_flags INTERFACE INFOLD_SANITIZED)
endif()
if(INFOLD_LIBFUZZER)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "INFOLD_LIBFUZZER needs clang; use the preset: cmake --preset fuzz")
  endif()
  target_compile_options(infold_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(INFOLD_BARE_CORE)
  target_compile_options(infold_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()

find_program(INFOLD_CCACHE ccache)
find_program(INFOLD_ENV env)
mark_as_advanced(INFOLD_CCACHE INFOLD_ENV)
if(INFOLD_CCACHE AND INFOLD_ENV)
  set(launcher ${INFOLD_ENV} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_EXTRAFILES=${ignorelist}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${INFOLD_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
