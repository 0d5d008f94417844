# The step of an installation that makes the manual pages: `program` writes them to the folder `manual`, `gzip`
# compresses them where it is installed, and they go to the folder `pages`.
file(REMOVE_RECURSE ${manual})
execute_process(COMMAND ${program} manual ${manual} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB written ${manual}/*.1)
if(gzip)
  execute_process(COMMAND ${gzip} -9 -n ${written} COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM written APPEND .gz)
endif()
file(INSTALL ${written} DESTINATION ${pages})
