# PENSTOCK_CUDA = ON | OFF | AUTO becomes PENSTOCK_WITH_CUDA, with the language enabled and CUDA::cudart and
# CUDA::cublasLt found, and PENSTOCK_WITH_NCCL, with NCCL::NCCL.
set(PENSTOCK_WITH_CUDA OFF)
set(PENSTOCK_WITH_NCCL OFF)
if(PENSTOCK_CUDA STREQUAL "OFF")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES ${PENSTOCK_CUDA_ARCHITECTURES})
find_program(NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NVCC AND NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER ${NVCC})
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(PENSTOCK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_CUDA=ON, but no nvcc was found: set CUDACXX, or take PENSTOCK_CUDA=OFF")
  endif()
  message(STATUS "No CUDA toolkit: building for the CPU alone")
  return()
endif()

enable_language(CUDA)
# CMake 3.25 does not know that nvcc takes C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
find_package(CUDAToolkit REQUIRED)
set(PENSTOCK_WITH_CUDA ON)
target_compile_options(penstock_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror>"
  # Kernels draw the same random numbers by the same constexpr function as the CPU.
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")

# From Debian's or NVIDIA's packages, or from Python's, which have no plain name.
find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} ${NCCL_INCLUDE}/../lib)
if(NCCL_INCLUDE AND NCCL_LIBRARY)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE})
  set(PENSTOCK_WITH_NCCL ON)
else()
  message(STATUS "No NCCL: ranks with GPUs can't send to each other")
endif()
