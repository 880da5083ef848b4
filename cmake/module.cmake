# SPDX-License-Identifier: Apache-2.0
#
# infold_module(<name> [DEPENDS <module>...] [LIBRARIES <target>...]
#                      [TEST_DEPENDS <module>...] [TESTED_AT_ONCE <suite>...]
#                      [OFTEN_INCLUDED <header>...] [SEPARATE] [ALONE <source>...])
#
# Makes targets from the files in the folder, and in the folders below it that have no
# CMakeLists.txt of their own. A file's name decides its target:
#   x.cc, x.h        library infold_<name> (an interface library when there is no .cc)
#   main.cc          not used here, but by the folder's own CMakeLists.txt
#   x_test.cc        one GoogleTest program infold_<name>_test, one ctest case per TEST
#   x_full_test.cc   one program infold_<name>_full_test, ctest label "full", release preset only
#   x_fuzz.cc        a replay of its corpus in ctest; under asan also a libFuzzer program
#   x_bench.cc       one Google Benchmark program infold_<name>_x_bench; ctest runs it briefly
# Each ctest case has its module's name as its label. Tests run in the repository's root.
# Highway's "foreach target" bodies are called x-inl.h and are exempt from the header check.

# A test case that has not ended after this many seconds counts as hung. The limit must be long
# enough on two cores with a load of ten. The slowest case takes about 20 s on a quiet machine, and
# sanitizers make searches up to twenty times slower.
if(INFOLD_SANITIZERS)
  set(INFOLD_HANG_S 2400)
else()
  set(INFOLD_HANG_S 900)
endif()

set(INFOLD_OFTEN_INCLUDED
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstring> <functional> <map>
  <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# Building one of these targets builds that kind of program, and only what it needs.
add_custom_target(infold_tests)
add_custom_target(infold_full_tests)
add_custom_target(infold_fuzzers)
add_custom_target(infold_headers)

function(infold_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg SEPARATE ""
    "DEPENDS;LIBRARIES;TEST_DEPENDS;TESTED_AT_ONCE;OFTEN_INCLUDED;ALONE")
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
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

  if(sources)
    add_library(infold_${name} STATIC ${sources})
    target_link_libraries(infold_${name} PUBLIC infold_flags ${depends} ${arg_LIBRARIES})
    infold_precompile_headers(infold_${name} ${arg_OFTEN_INCLUDED})
    if(NOT arg_SEPARATE)
      infold_unite(infold_${name})
    endif()
    infold_progress(infold_${name})
  else()
    add_library(infold_${name} INTERFACE)
    target_link_libraries(infold_${name} INTERFACE infold_flags ${depends} ${arg_LIBRARIES})
  endif()

  infold_header_check(${name})
  if(INFOLD_TEST_MODULES AND NOT name IN_LIST INFOLD_TEST_MODULES)
    return()
  endif()
  if(NOT name IN_LIST INFOLD_UNTESTED_MODULES)
    infold_module_tests(${name} "${all}" "${test_depends}" "${arg_TESTED_AT_ONCE}")
  endif()
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

# Compiles each header of the module alone, so that a missing include is found here and not by the
# first file that needs it. A header does not need such a unit if its own source includes it first,
# because that source does not compile if something is missing. ./dev tidy checks the include
# guards.
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
    infold_precompile_headers(infold_${name}_headers)
    add_dependencies(infold_headers infold_${name}_headers)
  endif()
endfunction()

# Says whether x.cc beside x.h has x.h as its first include.
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

function(infold_module_tests name all test_depends at_once)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(full_tests ${tests})
  list(FILTER full_tests INCLUDE REGEX "_full_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_full_test\\.cc$")
  if(INFOLD_TESTS AND tests)
    infold_test_program(infold_${name}_test ${name} ${INFOLD_HANG_S}
      "${tests}" "${name};${test_depends}" ${at_once})
    add_dependencies(infold_tests infold_${name}_test)
  endif()
  if(INFOLD_FULL_TESTS AND full_tests)
    infold_test_program(infold_${name}_full_test full 6000 "${full_tests}"
      "${name};${test_depends}")
    add_dependencies(infold_full_tests infold_${name}_full_test)
  endif()
endfunction()

# Headers take most of the time of compiling a source, so several sources of a module are compiled
# as one. Two of them may then define the same name in their unnamed namespaces. Where renaming one
# of the two would make it worse, as with the constants of tests, infold_module's ALONE lists a
# source that is compiled alone. In a SEPARATE module, each source of the library is.
function(infold_unite target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${INFOLD_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# Reading the standard library's headers takes more than half of the time of compiling most sources.
# Therefore the compiler reads the headers that many sources include once for all libraries, and
# once more for a library that often includes others. ./dev tidy still makes sure that each source
# includes what it uses.
function(infold_precompile_headers target)
  if(ARGN)
    infold_precompile(${target} ${ARGN})
  else()
    infold_reuse_headers(${target} infold_library_headers)
  endif()
endfunction()

# Adds the library that precompiles them. Call it in the root, so that they lie at the same path in
# every build folder: the compiler cache compares that path.
function(infold_add_library_headers)
  set(source "${PROJECT_BINARY_DIR}/library_headers.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(infold_library_headers STATIC EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(infold_library_headers PRIVATE infold_flags)
  target_compile_options(infold_library_headers PRIVATE -pthread)
  infold_precompile(infold_library_headers)
endfunction()

# Does the same for tests, with GoogleTest's headers, which take two thirds of the time of compiling
# a test with clang.
function(infold_precompile_test_headers target)
  set(precompiled infold_test_headers)
  if(NOT TARGET ${precompiled})
    # This is a program like the tests, because programs and libraries are compiled with different
    # flags.
    set(source "${PROJECT_BINARY_DIR}/test_headers.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    add_executable(${precompiled} EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${precompiled} PRIVATE infold_flags GTest::gmock)
    target_compile_options(${precompiled} PRIVATE -pthread -O0)
    infold_precompile(${precompiled} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  infold_reuse_headers(${target} ${precompiled})
endfunction()

# Two build folders never have the same bytes of precompiled headers. To let one folder find the
# objects of another in the compiler cache, the cache compares what the headers were made of: their
# names, and the versions of compiler and libraries. With clang, a new folder still misses the
# cache, because the cache does not see paths behind -Xclang.
function(infold_precompile target)
  set(headers ${ARGN} ${INFOLD_OFTEN_INCLUDED})
  target_precompile_headers(${target} PRIVATE ${headers})
  get_property(versions GLOBAL PROPERTY INFOLD_VERSION_MACROS)
  if(NOT versions)
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -x c++ -dM -E -include version -include features.h
        /dev/null
      OUTPUT_VARIABLE versions COMMAND_ERROR_IS_FATAL ANY)
    set_property(GLOBAL PROPERTY INFOLD_VERSION_MACROS "${versions}")
  endif()
  string(SHA256 sum "${headers}\n${versions}")
  file(CONFIGURE
    OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum"
    CONTENT "${sum}\n" @ONLY)
endfunction()

function(infold_reuse_headers target precompiled)
  # Headers that were precompiled with -pthread cannot be used without it.
  target_compile_options(${target} PRIVATE -pthread)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# Makes each test case a case of ctest, with a process of its own. A suite that is named after the
# other arguments becomes one case as a whole, because its tests share something that takes longer
# to make than they take to run. Under sanitizers a process takes longer to start than most tests
# take to run, so there a case of ctest is a quarter of a program's tests, and passes even if some
# of these were skipped.
function(infold_test_program target label timeout_s sources depends)
  list(POP_FRONT depends module)
  add_executable(${target} ${sources})
  # Test sources are half of the code that is compiled, and optimising them takes half of that time.
  # Most tests spend their time in the libraries, which stay optimised. The tests of numeric compute
  # a lot, so they are optimised as well.
  if(NOT module STREQUAL numeric)
    target_compile_options(${target} PRIVATE -O0)
    infold_precompile_test_headers(${target})
  endif()
  infold_unite(${target})
  target_link_libraries(${target} PRIVATE
    infold_${module} ${depends} GTest::gmock GTest::gtest_main)
  if(INFOLD_SANITIZERS)
    foreach(quarter RANGE 3)
      set(case ${target}.${quarter})
      add_test(NAME ${case} COMMAND ${target} --gtest_brief=1
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(${case} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${quarter}")
    endforeach()
    return()
  endif()
  set(suites ${ARGN})
  foreach(suite IN LISTS suites)
    add_test(NAME ${suite} COMMAND ${target} "--gtest_filter=${suite}.*"
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${suite} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s}
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endforeach()
  list(TRANSFORM suites APPEND ".*")
  list(JOIN suites ":" left_out)
  gtest_discover_tests(${target}
    TEST_FILTER "-${left_out}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    NO_PRETTY_VALUES  # Values may hold addresses, and a case needs a name that can be typed.
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT ${INFOLD_HANG_S}
    PROPERTIES LABELS ${label} TIMEOUT ${timeout_s})
endfunction()

# Makes a program that replays the corpus of each fuzz source. If clang compiles the libraries with
# AddressSanitizer, each source also becomes a libFuzzer program.
function(infold_module_fuzzers name all test_depends)
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  foreach(source IN LISTS fuzzers)
    get_filename_component(stem "${source}" NAME_WE)
    set(target infold_${name}_${stem})
    if(INFOLD_TESTS)
      add_executable(${target}_replay ${source} "${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc")
      target_link_libraries(${target}_replay PRIVATE infold_${name} ${test_depends})
      add_dependencies(infold_tests ${target}_replay)
      add_test(NAME fuzz_replay.${name}_${stem}
        COMMAND ${target}_replay "${PROJECT_SOURCE_DIR}/fuzz/corpus/${name}_${stem}")
      set_tests_properties(fuzz_replay.${name}_${stem} PROPERTIES LABELS ${name}
        TIMEOUT ${INFOLD_HANG_S}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    endif()
    if(INFOLD_SANITIZERS MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      add_executable(${target} EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${target} PRIVATE infold_${name} ${test_depends})
      # libFuzzer needs coverage of some code, and the target's own code is enough.
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}_${stem} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzzers")
      add_dependencies(infold_fuzzers ${target})
      set_property(GLOBAL APPEND_STRING PROPERTY INFOLD_FUZZERS "${name}_${stem}\n")
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
