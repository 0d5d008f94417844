#pragma once

#include <cudnn.h>

#include "layers/cuda/convolution/convolution_description.h"
#include "layers/cuda/convolution/own_convolutions.h"

namespace penstock::layers::cuda {

// Each pass wraps cuDNN's calls, which differ in names, types and order of arguments:
//   kName, kNumber       for messages and keys
//   Listed, Algorithm    an entry of the heuristic's list, and the algorithm that it names
//   list, bytes, run     ask the heuristic, ask for an algorithm's workspace, convolve
//   directly             does the same by a kernel of ours

inline constexpr float kOne = 1, kZero = 0;

struct ForwardPass {
  static constexpr const char* kName = "forward";
  static constexpr int kNumber = 0;
  using Listed = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;

  static cudnnStatus_t list(cudnnHandle_t library, const ConvolutionDescription& of, int asked,
                            int* found, Listed* listed) {
    return cudnnGetConvolutionForwardAlgorithm_v7(library, of.in(), of.filter(), of.convolution(),
                                                  of.out(), asked, found, listed);
  }
  static cudnnStatus_t bytes(cudnnHandle_t library, const ConvolutionDescription& of,
                             Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(library, of.in(), of.filter(), of.convolution(),
                                                   of.out(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t library, const ConvolutionDescription& of,
                           const Convolution& c, Algorithm algorithm) {
    return cudnnConvolutionForward(library, &kOne, of.in(), c.in, of.filter(), c.filter,
                                   of.convolution(), algorithm, c.workspace.data(),
                                   c.workspace.size(), &kZero, of.out(), c.out);
  }
  static void directly(CudaStream& stream, const Convolution& c) { convolve_directly(stream, c); }
};

struct BackwardInputPass {
  static constexpr const char* kName = "gradient of the input";
  static constexpr int kNumber = 1;
  using Listed = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;

  static cudnnStatus_t list(cudnnHandle_t library, const ConvolutionDescription& of, int asked,
                            int* found, Listed* listed) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(
        library, of.filter(), of.out(), of.convolution(), of.in(), asked, found, listed);
  }
  static cudnnStatus_t bytes(cudnnHandle_t library, const ConvolutionDescription& of,
                             Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(
        library, of.filter(), of.out(), of.convolution(), of.in(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t library, const ConvolutionDescription& of,
                           const Convolution& c, Algorithm algorithm) {
    return cudnnConvolutionBackwardData(library, &kOne, of.filter(), c.filter, of.out(), c.out,
                                        of.convolution(), algorithm, c.workspace.data(),
                                        c.workspace.size(), &kZero, of.in(), c.in);
  }
  static void directly(CudaStream& stream, const Convolution& c) {
    convolve_directly_to_input(stream, c);
  }
};

struct BackwardFilterPass {
  static constexpr const char* kName = "gradient of the filter";
  static constexpr int kNumber = 2;
  using Listed = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;

  static cudnnStatus_t list(cudnnHandle_t library, const ConvolutionDescription& of, int asked,
                            int* found, Listed* listed) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        library, of.in(), of.out(), of.convolution(), of.filter(), asked, found, listed);
  }
  static cudnnStatus_t bytes(cudnnHandle_t library, const ConvolutionDescription& of,
                             Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(
        library, of.in(), of.out(), of.convolution(), of.filter(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t library, const ConvolutionDescription& of,
                           const Convolution& c, Algorithm algorithm) {
    const float scale = filter_gradient_scale(c.dtype);
    return cudnnConvolutionBackwardFilter(library, &scale, of.in(), c.in, of.out(), c.out,
                                          of.convolution(), algorithm, c.workspace.data(),
                                          c.workspace.size(), &kZero, of.filter(), c.filter);
  }
  static void directly(CudaStream& stream, const Convolution& c) {
    convolve_directly_to_filter(stream, c);
  }
};

}  // namespace penstock::layers::cuda
