# SPDX-License-Identifier: Apache-2.0
#
# Finds every library that infold uses among the system's packages. docs/dependencies.md gives the
# reason for each, and tools/packages.txt names its Debian package. If a required library is
# missing, configuring stops and names the package. If an optional one is missing, its part is off,
# and configuring and `infold doctor` say so.

# infold_require(<find_package name> <debian package>)
macro(infold_require name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} not found: apt-get install ${package} (or run ./dev build)")
  endif()
endmacro()

# infold_optional_part(<part> <found variable> <debian package>) records one optional part.
set(INFOLD_PARTS "" CACHE INTERNAL "Optional parts as name|true or false|package")
function(infold_optional_part part found package)
  if(${found})
    set(state true)
  else()
    set(state false)
    message(STATUS "infold: ${part} is off, because ${package} is missing")
  endif()
  set(INFOLD_PARTS ${INFOLD_PARTS} "${part}|${state}|${package}" CACHE INTERNAL "")
endfunction()

infold_require(tl-expected libexpected-dev)
if(NOT INFOLD_BARE_CORE)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  infold_require(hwy libhwy-dev)
  infold_require(fmt libfmt-dev)
  infold_require(CLI11 libcli11-dev)
  infold_require(nlohmann_json nlohmann-json3-dev)
  infold_require(tomlplusplus libtomlplusplus-dev)
  infold_require(Protobuf "libprotobuf-dev protobuf-compiler")
  infold_require(OpenSSL libssl-dev)
  include(static)
endif()

# A P4 device is told over gRPC, which no other part needs.
set(INFOLD_P4 OFF)
if(NOT INFOLD_BARE_CORE AND NOT INFOLD_PYTHON)
  find_package(gRPC QUIET)
  if(gRPC_FOUND AND TARGET gRPC::grpc_cpp_plugin)
    set(INFOLD_P4 ON)
  endif()
  infold_optional_part("the P4 plane" INFOLD_P4 "libgrpc++-dev or protobuf-compiler-grpc")
endif()

# The packet program needs its own compiler and a loader, which no other part needs.
set(INFOLD_XDP OFF)
if(NOT INFOLD_BARE_CORE AND NOT INFOLD_PYTHON)
  find_program(INFOLD_BPF_CLANG clang-19)
  find_library(INFOLD_LIBBPF bpf)
  find_path(INFOLD_LIBBPF_INCLUDE bpf/libbpf.h)
  mark_as_advanced(INFOLD_BPF_CLANG INFOLD_LIBBPF INFOLD_LIBBPF_INCLUDE)
  if(INFOLD_BPF_CLANG AND INFOLD_LIBBPF AND INFOLD_LIBBPF_INCLUDE)
    set(INFOLD_XDP ON)
  endif()
  infold_optional_part("the XDP plane" INFOLD_XDP "clang-19 or libbpf-dev")
endif()

if(INFOLD_TESTS OR INFOLD_FULL_TESTS)
  find_package(GTest QUIET)
  infold_optional_part(tests GTest_FOUND "libgtest-dev and libgmock-dev")
  if(NOT GTest_FOUND)
    set(INFOLD_TESTS OFF)
    set(INFOLD_FULL_TESTS OFF)
  else()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
  endif()
endif()

if(INFOLD_BENCHMARKS)
  find_package(benchmark QUIET)
  infold_optional_part("micro benchmarks" benchmark_FOUND libbenchmark-dev)
  if(NOT benchmark_FOUND)
    set(INFOLD_BENCHMARKS OFF)
  endif()
endif()
