# PENSTOCK_PORTABLE: programs that start on other machines, with a C library of 2.34 or newer (RHEL 9, Ubuntu
# 22.04, Debian 12). What is C++ in them is linked statically: libstdc++, libgcc, and fmt, spdlog and toml++, of
# which Debian has shared libraries alone. CUDA's libraries stay shared.
if(NOT PENSTOCK_PORTABLE)
  return()
endif()
set(folder ${CMAKE_CURRENT_LIST_DIR}/portable)

# Definitions as of Debian's shared ones, so that a compiler cache serves both.
add_library(portable_fmt STATIC ${folder}/fmt.cpp)
target_compile_definitions(portable_fmt PUBLIC FMT_SHARED)
add_library(fmt::fmt ALIAS portable_fmt)
add_library(fmt::fmt-header-only ALIAS portable_fmt)

find_package(Threads REQUIRED)
add_library(portable_spdlog STATIC ${folder}/spdlog.cpp)
target_compile_definitions(portable_spdlog PUBLIC SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SPDLOG_SHARED_LIB)
target_link_libraries(portable_spdlog PUBLIC portable_fmt Threads::Threads)
add_library(spdlog::spdlog ALIAS portable_spdlog)
add_library(spdlog::spdlog_header_only ALIAS portable_spdlog)

add_library(portable_toml STATIC ${folder}/toml.cpp)
target_compile_options(portable_toml PUBLIC -DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1)
add_library(tomlplusplus::tomlplusplus ALIAS portable_toml)

# What libgcc and libstdc++ want of newer C libraries.
add_library(portable_c STATIC ${folder}/find_object.cpp ${folder}/random.cpp)
# CUDA's libraries see nothing of these: they bring or find a C++ library of their own.
add_link_options(-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,-u,_dl_find_object
  -Wl,-u,arc4random)
link_libraries(portable_c)
