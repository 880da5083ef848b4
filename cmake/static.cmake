# SPDX-License-Identifier: Apache-2.0
#
# infold_protobuf and infold_openssl are the libraries that joining needs. Without INFOLD_STATIC,
# they are Debian's shared libraries. With INFOLD_STATIC they are the archives of
# packaging/libraries in the folder that INFOLD_STATIC names, so that the machine that runs infold
# does not need them.
add_library(infold_protobuf INTERFACE)
add_library(infold_openssl INTERFACE)
if(NOT INFOLD_STATIC)
  target_link_libraries(infold_protobuf INTERFACE protobuf::libprotobuf)
  target_link_libraries(infold_openssl INTERFACE OpenSSL::SSL OpenSSL::Crypto)
  return()
endif()

# infold_archives(<target> <archive>...) links archives of that folder.
function(infold_archives target)
  foreach(name IN LISTS ARGN)
    set(archive "${INFOLD_STATIC}/${name}")
    if(NOT EXISTS "${archive}")
      message(FATAL_ERROR "${archive} not found: ./dev package builds packaging/libraries there")
    endif()
    target_link_libraries(${target} INTERFACE "${archive}")
  endforeach()
  target_link_libraries(${target} INTERFACE Threads::Threads)
endfunction()
infold_archives(infold_protobuf libprotobuf.a)
infold_archives(infold_openssl libssl.a libcrypto.a)
