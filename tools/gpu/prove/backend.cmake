# SPDX-License-Identifier: Apache-2.0
#
# The CMakeLists.txt of the folder that ./dev package prove makes. It compiles only the PyTorch
# backend, against the machine's own Python and torch, into the package that the folder carries. The
# rest of infold is compiled already: libinfold.so, and archives of the other code that the backend
# links.
cmake_minimum_required(VERSION 3.24)
file(READ about.json about)
string(JSON version GET "${about}" version)
project(infold_backend VERSION ${version} LANGUAGES C CXX)
set(INFOLD_WERROR OFF)
include(cmake/flags.cmake)
find_package(Threads REQUIRED)

# python/backend/CMakeLists.txt links these targets.
function(infold_progress target)
endfunction()
add_library(infold_public INTERFACE)
target_include_directories(infold_public SYSTEM INTERFACE "${PROJECT_SOURCE_DIR}/libraries")
target_link_libraries(infold_public INTERFACE infold_flags)
add_library(infold_library SHARED IMPORTED)
set_target_properties(infold_library PROPERTIES
  IMPORTED_LOCATION "${PROJECT_SOURCE_DIR}/site/infold/libinfold.so")
add_library(infold_trace INTERFACE)
add_library(infold_io INTERFACE)
file(GLOB archives "${PROJECT_SOURCE_DIR}/archives/*.a")
file(GLOB formatting "${PROJECT_SOURCE_DIR}/site/infold.libs/libfmt*")
target_link_libraries(infold_io INTERFACE
  "$<LINK_GROUP:RESCAN,${archives}>" "${formatting}" Threads::Threads)

add_subdirectory(python/backend)
# The wheel keeps its other libraries in this folder.
get_property(extensions DIRECTORY python/backend PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER extensions INCLUDE REGEX "^infold_torch_")
set_property(TARGET ${extensions} APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../../infold.libs")
