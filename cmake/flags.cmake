# SPDX-License-Identifier: Apache-2.0
#
# The interface target infold_flags has the compiler flags of all our own targets. Flags only choose
# checks and speed; none may change what the protocol does.

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
                 # Callers set only the fields of an Options struct that matter to them. The others
                 # keep their defaults.
                 -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # After inlining, g++ 12 reports false warnings of these kinds inside std::string, std::optional
  # and fmt. Tests under asan and clang's warnings find the real ones.
  list(APPEND warnings_cxx -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                           -Wno-stringop-overread -Wno-array-bounds)
else()
  # With clang, -Wconversion and -Wdouble-promotion also warn about changes of sign, and about a
  # float added to a long double, as oracles do. Code that passes with g++ should also pass with
  # clang.
  list(APPEND warnings_cxx -Wno-sign-conversion -Wno-double-promotion)
  # Warns when code touches a member without the mutex that its GUARDED_BY names (base/mutex.h).
  list(APPEND warnings_cxx -Wthread-safety)
endif()
# Another compiler warns about more, and that must not stop who only wants to build.
set(is_tested_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(is_tested_compiler ON)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\.")
  set(is_tested_compiler ON)
endif()
if(INFOLD_WERROR AND is_tested_compiler)
  list(APPEND warnings_c -Werror)
  list(APPEND warnings_cxx -Werror)
endif()
target_compile_options(infold_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${warnings_c}>" "$<$<COMPILE_LANGUAGE:CXX>:${warnings_cxx}>"
  # A result's bits must not depend on the vector target that runs, so the compiler may not fuse a
  # multiply and an add. By default, g++ fuses them for every target with FMA.
  -ffp-contract=off
  # No program replaces our functions at load time. Without this flag, position-independent code
  # must allow for that, and g++ does not even inline an exported function within its own file.
  -fno-semantic-interposition
  # Messages name files by their path in the repository, and binaries do not contain the builder's
  # folders. The second spelling is needed because ccache turns the first one into it.
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
  # Tests that measure memory or time check this macro, because clang and g++ have no common one for
  # sanitizers.
  target_compile_definitions(infold_flags INTERFACE INFOLD_SANITIZED)
endif()
if(INFOLD_FUZZED_LIBRARIES)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "INFOLD_FUZZED_LIBRARIES needs clang; use the preset: cmake --preset fuzz")
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
      CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${INFOLD_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
