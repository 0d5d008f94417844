# PENSTOCK_CUDA = ON | OFF | AUTO becomes PENSTOCK_WITH_CUDA, with the language enabled and CUDA::cudart,
# CUDA::cublasLt and CUDNN::CUDNN found, and PENSTOCK_WITH_NCCL, with NCCL::NCCL.
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
# To projects that require it, CMake 3.25 calls the library nvToolsExt deprecated, and fails where CUDA 13 has none.
set(required ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${required})

# cuDNN and NCCL come from Debian's or NVIDIA's packages, or from Python's, which have no plain name.
function(find_gpu_library target header library)
  string(TOUPPER ${library} NAME)
  find_path(${NAME}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(${NAME}_LIBRARY NAMES ${library} ${ARGN} HINTS ${CUDAToolkit_LIBRARY_DIR} ${${NAME}_INCLUDE}/../lib)
  if(${NAME}_INCLUDE AND ${NAME}_LIBRARY)
    add_library(${target} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION ${${NAME}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${NAME}_INCLUDE})
  endif()
endfunction()

find_gpu_library(CUDNN::CUDNN cudnn.h cudnn libcudnn.so.9)
if(NOT TARGET CUDNN::CUDNN)
  if(PENSTOCK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_CUDA=ON, but no cuDNN was found beside the toolkit: install it, or take PENSTOCK_CUDA=OFF")
  endif()
  message(STATUS "No cuDNN: building for the CPU alone")
  return()
endif()
set(PENSTOCK_WITH_CUDA ON)
target_compile_options(penstock_flags INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:SHELL:-Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror>"
  # Kernels draw the same random numbers by the same constexpr function as the CPU.
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--expt-relaxed-constexpr>"
  # Compiling for the device, clang takes functions of types that name CUDA's own for a file's own.
  "$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:SHELL:-Wall -Wextra -Werror -Wno-unused-function>"
  # PTX for newer devices, as nvcc adds it; all of CUDA 12's drivers know this compression.
  "$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:SHELL:--cuda-include-ptx=all -Xcuda-fatbinary --compress-mode=speed>"
  # By clang's own thresholds, sums of products lie in memory and not in registers.
  "$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:SHELL:-Xarch_device -mllvm=-inline-threshold=100000>"
  "$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:SHELL:-Xarch_device -mllvm=-unroll-threshold=20000>")

if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
  file(GLOB KERNELS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/layers/cuda/*/*.cu)
  add_custom_target(kernel_resources
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/kernel_resources ${CMAKE_CUDA_COMPILER} ${PENSTOCK_CUDA_ARCHITECTURES} ${KERNELS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()

find_gpu_library(NCCL::NCCL nccl.h nccl libnccl.so.2)
if(TARGET NCCL::NCCL)
  set(PENSTOCK_WITH_NCCL ON)
else()
  message(STATUS "No NCCL: ranks with GPUs can't send to each other")
endif()
