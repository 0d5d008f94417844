# PENSTOCK_FUZZ: programs of tests/fuzz that feed readers of foreign bytes by libFuzzer, which clang has. Everything is
# compiled with its counters and with the sanitisers of addresses and undefined behaviour.
if(NOT PENSTOCK_FUZZ)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "PENSTOCK_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}: use the preset fuzz")
endif()
# g++ gives the compiler's warnings.
set(kFuzzed -w -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
add_compile_options(${kFuzzed})
add_link_options(${kFuzzed})

# toml++ reads foreign bytes for penstock. Debian's shared one has no counters, so that libFuzzer would be blind in it.
add_library(fuzzed_toml STATIC ${CMAKE_CURRENT_LIST_DIR}/portable/toml.cpp)
target_compile_options(fuzzed_toml PUBLIC -DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1)
add_library(tomlplusplus::tomlplusplus ALIAS fuzzed_toml)
