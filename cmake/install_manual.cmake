# The step of an installation that makes the manual pages: `program` writes them to a folder below `build`, `gzip`
# compresses them where it is installed, and they go to the folder `pages`. Installations at the same time have folders of
# their own.
string(RANDOM LENGTH 16 name)
set(manual "${build}/manual-${name}")
execute_process(COMMAND "${program}" manual "${manual}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB written "${manual}/*.1")
if(gzip)
  execute_process(COMMAND "${gzip}" -9 -n ${written} COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM written APPEND .gz)
endif()
file(INSTALL ${written} DESTINATION "${pages}")
file(REMOVE_RECURSE "${manual}")
