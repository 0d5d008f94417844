# cpack runs this script before it closes the package. It adds the two files that Debian's policy asks for, below the
# package's name: copyright, and a changelog that states when this version was released. It also lets everybody read the
# package's folders.
if(NOT CPACK_PENSTOCK_RELEASED)
  message(FATAL_ERROR "CHANGELOG.md has no heading \"## [${CPACK_PACKAGE_VERSION}] - YEAR-MONTH-DAY\", whose day the "
    "package states: add it, run cmake and cpack again")
endif()
execute_process(COMMAND date -u -R -d "${CPACK_PENSTOCK_RELEASED}"
  OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(changelog "${CPACK_TOPLEVEL_DIRECTORY}/changelog")
configure_file("${CPACK_PENSTOCK_POLICY_FILES}/changelog.in" "${changelog}" @ONLY)
execute_process(COMMAND gzip -9 -n -f "${changelog}" COMMAND_ERROR_IS_FATAL ANY)

set(documents "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CPACK_PENSTOCK_DOCUMENTS}")
file(COPY "${CPACK_PENSTOCK_POLICY_FILES}/copyright" "${changelog}.gz" DESTINATION "${documents}"
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

# The umask of whoever runs cpack restricts the folders that it makes.
file(GLOB_RECURSE paths LIST_DIRECTORIES true "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*")
foreach(path ${paths})
  if(IS_DIRECTORY "${path}")
    file(CHMOD "${path}" PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
  endif()
endforeach()
