# cmake --install BUILD --prefix PREFIX: the tree that cmake/install_folders.cmake describes.
block(PROPAGATE PENSTOCK_CUDA_FOLDERS)  # cmake/package.cmake needs them

install(TARGETS penstock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# CUDA's libraries may lie in folders where the loader does not look by itself.
if(PENSTOCK_WITH_CUDA)
  foreach(library ${CUDNN_LIBRARY} ${NCCL_LIBRARY} ${CUDA_cublasLt_LIBRARY} ${CUDA_cudart_LIBRARY})
    get_filename_component(folder ${library} DIRECTORY)
    list(APPEND PENSTOCK_CUDA_FOLDERS ${folder})
  endforeach()
  list(REMOVE_DUPLICATES PENSTOCK_CUDA_FOLDERS)
  list(REMOVE_ITEM PENSTOCK_CUDA_FOLDERS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  set_target_properties(penstock PROPERTIES INSTALL_RPATH "${PENSTOCK_CUDA_FOLDERS}")
endif()
foreach(folder models recipes clusters devices)
  install(DIRECTORY configs/${folder} DESTINATION ${PENSTOCK_SHARE}/configs FILES_MATCHING PATTERN "*.toml")
endforeach()
install(PROGRAMS tools/asterisk_manifests tools/parquet_manifest DESTINATION ${PENSTOCK_SHARE}/tools)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
if(PENSTOCK_WITH_KENLM)
  install(FILES "${PENSTOCK_KENLM_FOLDER}/LICENSE" "${PENSTOCK_KENLM_FOLDER}/COPYING.LESSER.3"
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/kenlm)
endif()

# Bash, Zsh and Fish look here for what completes a command's lines. Debian's Zsh has another folder below /usr.
set(completion "${CMAKE_CURRENT_SOURCE_DIR}/tools/cli/completion")
install(FILES "${completion}/penstock.bash"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME penstock)
install(FILES "${completion}/penstock.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(CODE "
  set(folder \"${CMAKE_INSTALL_DATADIR}/zsh/site-functions\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(folder \"${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions\")
  endif()
  file(INSTALL \"${completion}/penstock.zsh\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${folder}\" RENAME _penstock)")

# The program writes its manual pages.
find_program(GZIP gzip)
install(CODE "
  set(program \"$<TARGET_FILE:penstock>\")
  set(build \"${CMAKE_CURRENT_BINARY_DIR}\")
  set(gzip \"${GZIP}\")
  set(pages \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")")
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/install_manual.cmake")

endblock()
