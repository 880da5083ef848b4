# SPDX-License-Identifier: Apache-2.0
#
# The files of an installation: the program, and the files that other programs read.
#
# The installation makes the manual page and the completions by running the program, which prints
# them.
include(GNUInstallDirs)
if(NOT CMAKE_CROSSCOMPILING)
  set(texts "${CMAKE_CURRENT_BINARY_DIR}/texts")
  install(CODE "
    file(MAKE_DIRECTORY \"${texts}\")
    foreach(text IN ITEMS \"manual;infold.1\" \"completion;bash;infold\"
                          \"completion;zsh;_infold\" \"completion;fish;infold.fish\")
      set(words \${text})
      list(POP_BACK words name)
      execute_process(COMMAND \"$<TARGET_FILE:infold>\" \${words}
        OUTPUT_FILE \"${texts}/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
  install(FILES "${texts}/infold.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${texts}/infold"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${texts}/_infold" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${texts}/infold.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
install(TARGETS infold RUNTIME)
install(FILES "${PROJECT_SOURCE_DIR}/tools/wireshark/infold.lua"
              "${PROJECT_SOURCE_DIR}/tools/wireshark/body.lua"
              "${PROJECT_SOURCE_DIR}/tools/wireshark/exact.lua"
              "${PROJECT_SOURCE_DIR}/tools/wireshark/layout.lua"
              "${PROJECT_SOURCE_DIR}/tools/wireshark/tables.lua"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/infold/wireshark")
install(FILES "${PROJECT_SOURCE_DIR}/packaging/monitoring/infold.rules.yml"
              "${PROJECT_SOURCE_DIR}/packaging/monitoring/grafana-dashboard.json"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/infold/monitoring")
