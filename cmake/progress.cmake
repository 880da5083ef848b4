# SPDX-License-Identifier: Apache-2.0
#
# Without -v, pip does not show the output of a build, and this build takes minutes. Therefore a
# build of the Python package writes a line for each part that is done straight to /dev/tty, past
# pip. Without a terminal, it writes nothing.
set(INFOLD_PROGRESS "${PROJECT_BINARY_DIR}/progress")
file(REMOVE "${INFOLD_PROGRESS}")
set_property(GLOBAL PROPERTY INFOLD_PROGRESS_PARTS 0)

# infold_progress(<target>): counts the target as one part.
function(infold_progress target)
  if(NOT SKBUILD)
    return()
  endif()
  get_property(parts GLOBAL PROPERTY INFOLD_PROGRESS_PARTS)
  math(EXPR parts "${parts} + 1")
  set_property(GLOBAL PROPERTY INFOLD_PROGRESS_PARTS ${parts})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND sh "${PROJECT_SOURCE_DIR}/cmake/progress.sh" "${INFOLD_PROGRESS}" ${target})
endfunction()

# infold_progress_begin(): writes the first line. Call it after all parts.
function(infold_progress_begin)
  if(NOT SKBUILD)
    return()
  endif()
  get_property(parts GLOBAL PROPERTY INFOLD_PROGRESS_PARTS)
  file(WRITE "${INFOLD_PROGRESS}.total" "${parts}\n")
  execute_process(ERROR_QUIET COMMAND sh "${PROJECT_SOURCE_DIR}/cmake/progress.sh" --begin ${parts})
endfunction()
