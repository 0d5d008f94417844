# discover_suites(TARGET WITHOUT ENVIRONMENT) gives ctest a test for each suite of a GoogleTest program, without the
# tests that match the patterns WITHOUT.
#
# GoogleTest's own module gives ctest each test. A program that is linked with CUDA's libraries takes 0.13 s to start,
# and one with sanitisers as long, so its 3,700 starts took minutes. Suites are listed after each build: CMake
# runs this file then, with the variables PROGRAM, WITHOUT, ENVIRONMENT and OUTPUT.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(kListSuites ${CMAKE_CURRENT_LIST_FILE})
  function(discover_suites target without environment)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM BYPRODUCTS ${output}
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DWITHOUT=${without} -DENVIRONMENT=${environment}
              -DOUTPUT=${output} -P ${kListSuites})
    # A program that is not built fails, instead of having no tests.
    set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
    file(WRITE ${include} "if(EXISTS [=[${output}]=])\n  include([=[${output}]=])\nelse()\n"
      "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
  endfunction()
  return()
endif()

execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=*-${WITHOUT}
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
string(REGEX REPLACE "[][;]" "" listed "${listed}")  # brackets would join the lines of CMake's lists
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
set(script "")
foreach(line ${lines})
  if(line MATCHES "^([A-Za-z0-9_/]+)[.]( +#.*)?$")
    set(suite ${CMAKE_MATCH_1})
    string(APPEND script "add_test([=[${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*-${WITHOUT}]=])\n"
      "set_tests_properties([=[${suite}]=] PROPERTIES ENVIRONMENT [=[${ENVIRONMENT}]=])\n")
  endif()
endforeach()
if(script STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} lists no tests")
endif()
file(WRITE ${OUTPUT} "${script}")
