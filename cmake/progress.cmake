# SPDX-License-Identifier: Apache-2.0
#
# pip shows nothing of a build without -v, and this one takes minutes. So a build of the Python
# package writes a line to the terminal for each part that is done: past pip, to /dev/tty, and
# nowhere if there is no terminal.
set(INFOLD_PROGRESS "${PROJECT_BINARY_DIR}/progress")
file(REMOVE "${INFOLD_PROGRESS}")
set_property(GLOBAL PROPERTY INFOLD_PROGRESS_PARTS 0)

# infold_progress(<target>): one part.
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

# infold_progress_begin(): after all parts.
function(infold_progress_begin)
  if(NOT SKBUILD)
    return()
  endif()
  get_property(parts GLOBAL PROPERTY INFOLD_PROGRESS_PARTS)
  file(WRITE "${INFOLD_PROGRESS}.total" "${parts}\n")
  execute_process(ERROR_QUIET COMMAND sh "${PROJECT_SOURCE_DIR}/cmake/progress.sh" --begin ${parts})
endfunction()
