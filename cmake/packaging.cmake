# What is installed and packed beside the program. Build first: `cmake --build DIR --target package_files`, then
# `cmake --install DIR` or `cpack` in DIR. Neither builds anything itself.
include(GNUInstallDirs)

set(package_dir ${CMAKE_BINARY_DIR}/package)
set(shells bash zsh fish)
set(printed ${package_dir}/foretoken.1)
add_custom_command(OUTPUT ${package_dir}/foretoken.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${package_dir}
  COMMAND $<TARGET_FILE:foretoken> help --man > ${package_dir}/foretoken.1
  DEPENDS foretoken VERBATIM)
foreach(shell ${shells})
  add_custom_command(OUTPUT ${package_dir}/foretoken.${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package_dir}
    COMMAND $<TARGET_FILE:foretoken> help --completions ${shell} > ${package_dir}/foretoken.${shell}
    DEPENDS foretoken VERBATIM)
  list(APPEND printed ${package_dir}/foretoken.${shell})
endforeach()
set(third_party ${package_dir}/THIRD_PARTY_NOTICES ${package_dir}/sbom.cdx.json)
if(FORETOKEN_PORTABLE)
  set(linked_statically --portable ${portable_parts})
endif()
add_custom_command(OUTPUT ${third_party}
  COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/third_party.py $<TARGET_FILE:foretoken> ${package_dir} --cargo ${CARGO}
          ${linked_statically}
  DEPENDS foretoken ${PROJECT_SOURCE_DIR}/tools/third_party.py ${PROJECT_SOURCE_DIR}/tools/portable_parts.py
          ${PROJECT_SOURCE_DIR}/src/text/rust/Cargo.lock VERBATIM)
add_custom_target(package_files DEPENDS ${printed} ${third_party})

install(TARGETS foretoken)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/demo DESTINATION ${CMAKE_INSTALL_DATADIR}/foretoken/models)
install(FILES ${package_dir}/foretoken.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${package_dir}/foretoken.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME foretoken)
install(FILES ${package_dir}/foretoken.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _foretoken)
install(FILES ${package_dir}/foretoken.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/foretoken.service DESTINATION lib/systemd/system)
install(FILES ${third_party} ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_time.cmake)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR foretoken)
set(CPACK_PACKAGE_CONTACT "The authors of foretoken <foretoken@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "a server for large language models that drafts without changing a text")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
if(FORETOKEN_PORTABLE)
  # What is asked of the distribution would name its own glibc.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.31)")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
include(CPack)
