# SPDX-License-Identifier: Apache-2.0
#
# infold_protobuf and infold_openssl are the libraries that joining needs. Without INFOLD_STATIC,
# they are Debian's shared libraries. With INFOLD_STATIC they are those of packaging/libraries in
# the folder that INFOLD_STATIC names, so that the machine that runs infold does not need Debian's:
# protobuf as an archive, and OpenSSL as shared libraries, which a wheel then contains.
add_library(infold_protobuf INTERFACE)
add_library(infold_openssl INTERFACE)
if(NOT INFOLD_STATIC)
  target_link_libraries(infold_protobuf INTERFACE protobuf::libprotobuf)
  target_link_libraries(infold_openssl INTERFACE OpenSSL::SSL OpenSSL::Crypto)
  return()
endif()

# infold_built(<target> <file>...) links files of that folder.
function(infold_built target)
  foreach(name IN LISTS ARGN)
    set(file "${INFOLD_STATIC}/${name}")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "${file} not found: ./dev package builds packaging/libraries there")
    endif()
    target_link_libraries(${target} INTERFACE "${file}")
  endforeach()
  target_link_libraries(${target} INTERFACE Threads::Threads)
endfunction()
infold_built(infold_protobuf libprotobuf.a)
infold_built(infold_openssl libssl-infold.so.3 libcrypto-infold.so.3)
