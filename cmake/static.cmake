# SPDX-License-Identifier: Apache-2.0
#
# infold_protobuf is protobuf's library, which joining needs. Without INFOLD_STATIC, it is Debian's
# shared library. With INFOLD_STATIC it is the archive of packaging/libraries in the folder that
# INFOLD_STATIC names, so that the machine that runs infold does not need it.
add_library(infold_protobuf INTERFACE)
if(NOT INFOLD_STATIC)
  target_link_libraries(infold_protobuf INTERFACE protobuf::libprotobuf)
  return()
endif()

set(archive "${INFOLD_STATIC}/libprotobuf.a")
if(NOT EXISTS "${archive}")
  message(FATAL_ERROR "${archive} not found: ./dev package builds packaging/libraries there")
endif()
target_link_libraries(infold_protobuf INTERFACE "${archive}" Threads::Threads)
