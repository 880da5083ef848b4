# SPDX-License-Identifier: Apache-2.0
#
# infold_grpc has the libraries that joining needs. Without INFOLD_STATIC, they are Debian's shared
# libraries. With INFOLD_STATIC they are static, so that the machine that runs infold does not need
# them. Some are Debian's archives, and the archives of packaging/libraries are in the folder that
# INFOLD_STATIC names. gRPC's archives are the ones without TLS, which infold does not use, so
# OpenSSL is not linked. infold_protobuf is protobuf alone.
add_library(infold_grpc INTERFACE)
add_library(infold_protobuf INTERFACE)
if(NOT INFOLD_STATIC)
  target_link_libraries(infold_grpc INTERFACE gRPC::grpc++ protobuf::libprotobuf)
  target_link_libraries(infold_protobuf INTERFACE protobuf::libprotobuf)
  return()
endif()

set(archives "")
foreach(name IN ITEMS protobuf re2 absl)
  set(archive "${INFOLD_STATIC}/lib${name}.a")
  if(NOT EXISTS "${archive}")
    message(FATAL_ERROR "${archive} not found: ./dev package builds packaging/libraries there")
  endif()
  list(APPEND archives "${archive}")
endforeach()
foreach(name IN ITEMS grpc++_unsecure grpc_unsecure gpr upb address_sorting cares z)
  find_library(INFOLD_ARCHIVE_${name} "lib${name}.a")
  mark_as_advanced(INFOLD_ARCHIVE_${name})
  if(NOT INFOLD_ARCHIVE_${name})
    message(FATAL_ERROR "lib${name}.a not found; on Debian, ./dev package installs it")
  endif()
  list(APPEND archives "${INFOLD_ARCHIVE_${name}}")
endforeach()
target_link_libraries(infold_grpc INTERFACE
  "$<LINK_GROUP:RESCAN,${archives}>" Threads::Threads ${CMAKE_DL_LIBS} rt)
target_link_libraries(infold_protobuf INTERFACE
  "${INFOLD_STATIC}/libprotobuf.a" Threads::Threads)
