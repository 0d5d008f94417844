// cuDNN: the choice of an algorithm, and a convolution's three passes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/emulated_cuda/emulation/cudnn/algorithms.h"
#include "tests/emulated_cuda/emulation/cudnn/convolution.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

using namespace emulated_cuda;
using namespace emulated_cuda::cudnn;

namespace {

/// More than nothing, so that who keeps numbers in the workspace loses them.
constexpr std::size_t kWorkspace = std::size_t{1} << 20;
constexpr std::size_t kTooMuch = std::size_t{1} << 40;

constexpr cudnnConvolutionFwdAlgo_t kForward[kAlgorithms] = {
    CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
    CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};
constexpr cudnnConvolutionBwdDataAlgo_t kBackwardData[kAlgorithms] = {
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
constexpr cudnnConvolutionBwdFilterAlgo_t kBackwardFilter[kAlgorithms] = {
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

/// Returns the bytes of workspace that an algorithm wants. One convolution wants more than those of
/// more rows do.
std::size_t bytes_of(const Convolution& convolution, int algorithm) {
  const bool wants_more =
      convolution.in.h == 41 && convolution.in.c == 1 && convolution.how.stride_h == 3;
  return algorithm == kWantsTooMuch || wants_more ? kTooMuch : kWorkspace;
}

/// The library's list: its algorithms with each math type that suits.
template <class Listed, class Name>
cudnnStatus_t list(const char* name, const Convolution& convolution,
                   const Name (&algorithms)[kAlgorithms], int asked, int* found, Listed* results) {
  const Call call(name);
  ++machine().choices;
  *found = 0;
  if (const cudnnStatus_t status = check(convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (!exists(convolution.in.type, convolution.how.math)) return CUDNN_STATUS_NOT_SUPPORTED;
  for (const cudnnMathType_t math : listed_math(convolution))
    for (int i = 0; i < kAlgorithms && *found < asked; ++i) {
      Listed& result = results[(*found)++];
      result = {};
      result.algo = algorithms[i];
      result.status = i == kIsNone ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
      result.memory = bytes_of(convolution, i);
      result.determinism = i == kVaries ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
      result.mathType = math;
    }
  return CUDNN_STATUS_SUCCESS;
}

/// Its place among a pass's; kIsNone also where it is not of the descriptor's math type.
template <class Name>
int algorithm_of(const Convolution& convolution, const Name (&algorithms)[kAlgorithms],
                 Name algorithm) {
  const std::vector<cudnnMathType_t> all = listed_math(convolution);
  if (std::ranges::find(all, convolution.how.math) == all.end()) return kIsNone;
  for (int i = 0; i < kAlgorithms; ++i)
    if (algorithms[i] == algorithm) return i;
  return kIsNone;
}

template <class Name>
cudnnStatus_t workspace_of(const char* name, const Convolution& convolution,
                           const Name (&algorithms)[kAlgorithms], Name algorithm,
                           std::size_t* bytes) {
  const Call call(name);
  ++machine().workspaces;
  if (const cudnnStatus_t status = check(convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  const int found = algorithm_of(convolution, algorithms, algorithm);
  if (found == kIsNone) return CUDNN_STATUS_NOT_SUPPORTED;
  *bytes = bytes_of(convolution, found);
  return CUDNN_STATUS_SUCCESS;
}

struct Arguments {
  cudnnHandle_t handle;
  const void *alpha, *beta;
  void* workspace;
  std::size_t workspace_bytes;
};

template <class Name>
cudnnStatus_t run(const char* name, const Arguments& arguments, const Convolution& convolution,
                  Wanted wanted, const Name (&algorithms)[kAlgorithms], Name algorithm) {
  const Call call(name);
  CUstream_st& stream = call.stream(arguments.handle->stream);
  if (const cudnnStatus_t status = check(convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  const int found = algorithm_of(convolution, algorithms, algorithm);
  if (found == kVaries) fail("this algorithm's results do not repeat");
  if (found != kComputes) {
    ++machine().refused;
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (*static_cast<const float*>(arguments.beta) != 0) fail("sums of results are not emulated");
  if (arguments.workspace_bytes < bytes_of(convolution, found)) return CUDNN_STATUS_BAD_PARAM;

  Memory& memory = machine().memory;
  const auto expect = [&](const void* data, std::size_t numbers, const char* what) {
    memory.expect_device(stream.device, data, numbers * size_of(convolution.in.type), what);
  };
  expect(convolution.in_data, numbers_in(convolution.in), "the image or its gradient");
  expect(convolution.out_data, numbers_in(convolution.out), "the result or its gradient");
  expect(convolution.filter_data, numbers_in(convolution.filter), "the filter or its gradient");
  memory.expect_device(stream.device, arguments.workspace, arguments.workspace_bytes,
                       "the workspace");
  ++machine().computed;
  call.queue(stream, [convolution, wanted, workspace = arguments.workspace,
                      alpha = *static_cast<const float*>(arguments.alpha)] {
    watch().operation_writes(workspace, kWorkspace);
    std::memset(workspace, 0xff, kWorkspace);
    compute(convolution, wanted, alpha);
  });
  return CUDNN_STATUS_SUCCESS;
}

void* unconst(const void* data) { return const_cast<void*>(data); }

}  // namespace

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t in,
                                                     cudnnFilterDescriptor_t filter,
                                                     cudnnConvolutionDescriptor_t how,
                                                     cudnnTensorDescriptor_t out, int asked,
                                                     int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return list("cudnnGetConvolutionForwardAlgorithm_v7", {*in, *out, *filter, *how}, kForward, asked,
              found, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t in,
                                                      cudnnFilterDescriptor_t filter,
                                                      cudnnConvolutionDescriptor_t how,
                                                      cudnnTensorDescriptor_t out,
                                                      cudnnConvolutionFwdAlgo_t algorithm,
                                                      std::size_t* bytes) {
  return workspace_of("cudnnGetConvolutionForwardWorkspaceSize", {*in, *out, *filter, *how},
                      kForward, algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t in, const void* in_data,
                                      cudnnFilterDescriptor_t filter, const void* filter_data,
                                      cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      std::size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t out, void* out_data) {
  return run("cudnnConvolutionForward", {handle, alpha, beta, workspace, workspace_bytes},
             {*in, *out, *filter, *how, unconst(in_data), out_data, unconst(filter_data)},
             Wanted::out, kForward, algorithm);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t in, int asked, int* found,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return list("cudnnGetConvolutionBackwardDataAlgorithm_v7", {*in, *out, *filter, *how},
              kBackwardData, asked, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t in,
    cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of("cudnnGetConvolutionBackwardDataWorkspaceSize", {*in, *out, *filter, *how},
                      kBackwardData, algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t filter, const void* filter_data,
                                           cudnnTensorDescriptor_t out, const void* out_data,
                                           cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           std::size_t workspace_bytes, const void* beta,
                                           cudnnTensorDescriptor_t in, void* in_data) {
  return run("cudnnConvolutionBackwardData", {handle, alpha, beta, workspace, workspace_bytes},
             {*in, *out, *filter, *how, in_data, unconst(out_data), unconst(filter_data)},
             Wanted::in_gradient, kBackwardData, algorithm);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t in, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t how, cudnnFilterDescriptor_t filter, int asked, int* found,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return list("cudnnGetConvolutionBackwardFilterAlgorithm_v7", {*in, *out, *filter, *how},
              kBackwardFilter, asked, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t in, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t how, cudnnFilterDescriptor_t filter,
    cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of("cudnnGetConvolutionBackwardFilterWorkspaceSize", {*in, *out, *filter, *how},
                      kBackwardFilter, algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t in, const void* in_data,
    cudnnTensorDescriptor_t out, const void* out_data, cudnnConvolutionDescriptor_t how,
    cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, std::size_t workspace_bytes,
    const void* beta, cudnnFilterDescriptor_t filter, void* filter_data) {
  return run("cudnnConvolutionBackwardFilter", {handle, alpha, beta, workspace, workspace_bytes},
             {*in, *out, *filter, *how, unconst(in_data), unconst(out_data), filter_data},
             Wanted::filter_gradient, kBackwardFilter, algorithm);
}
