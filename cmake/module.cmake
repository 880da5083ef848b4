# SPDX-License-Identifier: Apache-2.0
#
# infold_module(<name> [DEPENDS <module>...] [LIBRARIES <target>...]
#                      [TEST_DEPENDS <module>...])
#
# Makes targets of the files in the folder, and in folders below it that have no CMakeLists.txt. A
# file's name decides its target:
#   x.cc, x.h        library infold_<name> (an interface library when there is no .cc)
#   main.cc          left alone, for the folder's own CMakeLists.txt
#   x_test.cc        one GoogleTest program infold_<name>_test, one ctest case per TEST
#   x_full_test.cc   one program infold_<name>_full_test, ctest label "full", release preset only
#   x_fuzz.cc        program infold_<name>_x_fuzz each: libFuzzer, or in ctest a corpus replay
#   x_bench.cc       Google Benchmark program infold_<name>_x_bench each; a tiny run in ctest
# Each ctest case has its module's name as label. Tests run in the repository's root.
# Highway's "foreach target" bodies are called x-inl.h and are exempt from the header check.

# A test case that has not ended after so many seconds counts as hung. The limit must hold beside a
# load of ten on two cores. The slowest case takes some 20 s on a quiet machine, and sanitizers make
# searches up to twenty times slower.
if(INFOLD_SANITIZERS)
  set(INFOLD_HANG_S 2400)
else()
  set(INFOLD_HANG_S 900)
endif()

# Building one of these targets builds that kind of program, and only what it needs.
add_custom_target(infold_tests)
add_custom_target(infold_full_tests)
add_custom_target(infold_fuzzers)
add_custom_target(infold_headers)

function(infold_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "infold_module(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  infold_files(all "*.cc")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench|/main)\\.cc$")
  set(depends ${arg_DEPENDS})
  list(TRANSFORM depends PREPEND "infold_")
  set(test_depends ${arg_TEST_DEPENDS})
  list(TRANSFORM test_depends PREPEND "infold_")

  if(sources)
    add_library(infold_${name} STATIC ${sources})
    target_link_libraries(infold_${name} PUBLIC infold_flags ${depends} ${arg_LIBRARIES})
    infold_progress(infold_${name})
  else()
    add_library(infold_${name} INTERFACE)
    target_link_libraries(infold_${name} INTERFACE infold_flags ${depends} ${arg_LIBRARIES})
  endif()

  infold_header_check(${name})
  if(INFOLD_TEST_MODULES AND NOT name IN_LIST INFOLD_TEST_MODULES)
    return()
  endif()
  infold_module_tests(${name} "${all}" "${test_depends}")
  infold_module_fuzzers(${name} "${all}" "${test_depends}")
  infold_module_benchmarks(${name} "${all}" "${test_depends}")
endfunction()

# Lists the module's files of one kind.
function(infold_files result pattern)
  file(GLOB files CONFIGURE_DEPENDS "${pattern}" "*/${pattern}")
  set(own "")
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    if(folder STREQUAL CMAKE_CURRENT_SOURCE_DIR OR NOT EXISTS "${folder}/CMakeLists.txt")
      list(APPEND own "${file}")
    endif()
  endforeach()
  set(${result} "${own}" PARENT_SCOPE)
endfunction()

# Compiles each header of the module alone. So a missing include is found here, and not by the first
# file that needs it. A header that its own source includes first needs no unit, because that source
# does not compile if something is missing. Tidy looks for the include guards.
function(infold_header_check name)
  if(NOT INFOLD_HEADER_CHECKS)
    return()
  endif()
  infold_files(headers "*.h")
  list(FILTER headers EXCLUDE REGEX "-inl\\.h$")
  set(units "")
  foreach(header IN LISTS headers)
    infold_is_included_first("${header}" comes_first)
    if(NOT comes_first)
      file(RELATIVE_PATH stem "${CMAKE_CURRENT_SOURCE_DIR}" "${header}")
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/alone/${stem}.cc")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${header}\"\n")
      list(APPEND units "${unit}")
    endif()
  endforeach()
  if(units)
    add_library(infold_${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    target_link_libraries(infold_${name}_headers PRIVATE infold_${name})
    add_dependencies(infold_headers infold_${name}_headers)
  endif()
endfunction()

# Whether x.cc beside x.h has x.h as its first include.
function(infold_is_included_first header result)
  set(${result} FALSE PARENT_SCOPE)
  get_filename_component(name "${header}" NAME)
  string(REGEX REPLACE "\\.h$" ".cc" source "${header}")
  if(EXISTS "${source}")
    file(STRINGS "${source}" first REGEX "^#include" LIMIT_COUNT 1)
    if(first MATCHES "[/\"<]${name}[\">]")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(infold_module_tests name all test_depends)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(full_tests ${tests})
  list(FILTER full_tests INCLUDE REGEX "_full_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_full_test\\.cc$")
  if(INFOLD_TESTS AND tests)
    infold_test_program(infold_${name}_test ${name} ${INFOLD_HANG_S}
      "${tests}" "${name};${test_depends}")
    add_dependencies(infold_tests infold_${name}_test)
  endif()
  if(INFOLD_FULL_TESTS AND full_tests)
    infold_test_program(infold_${name}_full_test full 6000 "${full_tests}"
      "${name};${test_depends}")
    add_dependencies(infold_full_tests infold_${name}_full_test)
  endif()
endfunction()

# Reading GoogleTest's headers is a third of compiling a test with g++ and two thirds with clang. So
# the compiler reads them once for all tests. In a new folder the compiler cache misses clang's
# tests, because it sees no paths behind -Xclang.
function(infold_precompile_test_headers target)
  set(precompiled infold_test_headers)
  if(NOT TARGET ${precompiled})
    # A program like the tests, because programs and libraries are compiled with other flags.
    set(source "${PROJECT_BINARY_DIR}/test_headers.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    add_executable(${precompiled} EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${precompiled} PRIVATE infold_flags GTest::gmock)
    target_compile_options(${precompiled} PRIVATE -pthread $<$<CONFIG:Debug>:-O0>)
    target_precompile_headers(${precompiled} PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <functional> <map> <memory> <string> <vector>)
  endif()
  # Headers that were read with -pthread are of no use without.
  target_compile_options(${target} PRIVATE -pthread)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

function(infold_test_program target label timeout_s sources depends)
  list(POP_FRONT depends module)
  add_executable(${target} ${sources})
  # Test sources are half of the code that sanitizer builds compile, and optimising them takes half
  # of that time. Most tests spend their time in the libraries, which stay optimised. numeric's
  # tests compute much, so they are optimised, too.
  if(NOT module STREQUAL numeric)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0>)
    infold_precompile_test_headers(${target})
  endif()
  target_link_libraries(${target} PRIVATE
    infold_${module} ${depends} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${target}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    NO_PRETTY_VALUES  # Values may hold addresses, and a case needs a name that can be typed.
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT ${INFOLD_HANG_S}
    PROPERTIES LABELS ${label} TIMEOUT ${timeout_s})
endfunction()

function(infold_module_fuzzers name all test_depends)
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(NOT INFOLD_LIBFUZZER AND NOT INFOLD_TESTS)
    return()
  endif()
  foreach(source IN LISTS fuzzers)
    get_filename_component(stem "${source}" NAME_WE)
    set(target infold_${name}_${stem})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE infold_${name} ${test_depends})
    if(INFOLD_LIBFUZZER)
      # libFuzzer needs some code with coverage, and the target's own is enough.
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}_${stem} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzzers")
      add_dependencies(infold_fuzzers ${target})
      set_property(GLOBAL APPEND_STRING PROPERTY INFOLD_FUZZERS "${name}_${stem}\n")
    else()
      target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc")
      add_dependencies(infold_tests ${target})
      add_test(NAME fuzz_replay.${name}_${stem}
        COMMAND ${target} "${PROJECT_SOURCE_DIR}/fuzz/corpus/${name}_${stem}")
      set_tests_properties(fuzz_replay.${name}_${stem} PROPERTIES LABELS ${name}
        TIMEOUT ${INFOLD_HANG_S}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()
endfunction()

function(infold_module_benchmarks name all test_depends)
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  if(NOT INFOLD_BENCHMARKS)
    return()
  endif()
  foreach(source IN LISTS benches)
    get_filename_component(stem "${source}" NAME_WE)
    set(target infold_${name}_${stem})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE
      infold_${name} ${test_depends} benchmark::benchmark_main)
    # Ten milliseconds for each case prove that a benchmark runs. The times are not used.
    add_test(NAME bench_smoke.${name}_${stem} COMMAND ${target} --benchmark_min_time=0.01)
    set_tests_properties(bench_smoke.${name}_${stem} PROPERTIES LABELS ${name}
      TIMEOUT ${INFOLD_HANG_S})
  endforeach()
endfunction()

# infold_c11_header(<header>) proves that a header is C11: it compiles the header alone as C11.
function(infold_c11_header header)
  get_filename_component(stem "${header}" NAME_WE)
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/c11/${stem}.c")
  set(line "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${header}\"\n")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${line}${line}extern int infold_unit_is_not_empty;\n")
  add_library(${stem}_c11 OBJECT "${unit}")
  target_include_directories(${stem}_c11 PRIVATE
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(${stem}_c11 PRIVATE -std=c11 -Wall -Wextra -Wpedantic -Werror)
endfunction()

if(INFOLD_TESTS OR INFOLD_FULL_TESTS)
  include(GoogleTest)
endif()
