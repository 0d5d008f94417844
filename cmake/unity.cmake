# unity_by_folder(TARGET FILE...): where PENSTOCK_UNITY is on, the given sources of each folder are compiled as
# one, so that Eigen, JSON and the standard library are read once a folder and not once a file. Of a folder with
# many, as several: both cores have work, and memory stays below 2 GiB.
function(unity_by_folder target)
  set(most 12)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_MODE GROUP)
  if(PENSTOCK_UNITY)  # types of a file's own are then behind an include, which g++ takes for a header's
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  # Clang reads these once a target, which takes a quarter of the time of a build with sanitisers. g++ gains little.
  if(PENSTOCK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <cmath> <filesystem> <fstream> <functional> <map>
      <memory> <numeric> <optional> <random> <ranges> <set> <span> <sstream> <string> <thread> <unordered_map> <vector>)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  foreach(file ${ARGN})
    get_filename_component(folder ${file} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR count_${folder} "${count_${folder}} + 1")
    math(EXPR part "(${count_${folder}} - 1) / ${most}")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${folder}_${part})
  endforeach()
endfunction()
