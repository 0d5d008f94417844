// cuDNN: the choice of an algorithm, and a convolution's three passes.
#include <cstring>

#include "tests/emulated_cuda/emulation/cudnn/convolution.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

using namespace emulated_cuda;
using namespace emulated_cuda::cudnn;

namespace {

/// More than nothing, so that who keeps numbers in the workspace loses them.
constexpr std::size_t kWorkspace = std::size_t{1} << 20;
constexpr std::size_t kTooMuch = std::size_t{1} << 40;

/// The library's list: first one that is fast and never the same twice, then one that wants more
/// memory than there is, then one to take.
template <class Listed, class Algorithm>
cudnnStatus_t list(const Convolution& convolution, const Algorithm (&algorithms)[3], int asked,
                   int* found, Listed* results) {
  if (const cudnnStatus_t status = check(convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  for (*found = 0; *found < 3 && *found < asked; ++*found) {
    Listed& result = results[*found];
    result = {};
    result.algo = algorithms[*found];
    result.status = CUDNN_STATUS_SUCCESS;
    result.memory = *found == 1 ? kTooMuch : kWorkspace;
    result.determinism = *found == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
    result.mathType = convolution.how.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

constexpr cudnnConvolutionFwdAlgo_t kForward[] = {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
                                                  CUDNN_CONVOLUTION_FWD_ALGO_FFT,
                                                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};
constexpr cudnnConvolutionBwdDataAlgo_t kBackwardData[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                                           CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
                                                           CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
constexpr cudnnConvolutionBwdFilterAlgo_t kBackwardFilter[] = {
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

template <class Algorithm>
cudnnStatus_t workspace_of(const Algorithm (&algorithms)[3], Algorithm algorithm,
                           std::size_t* bytes) {
  *bytes = algorithm == algorithms[1] ? kTooMuch : kWorkspace;
  return CUDNN_STATUS_SUCCESS;
}

struct Arguments {
  cudnnHandle_t handle;
  const void *alpha, *beta;
  void* workspace;
  std::size_t workspace_bytes;
};

template <class Algorithm>
cudnnStatus_t run(const char* name, const Arguments& arguments, const Convolution& convolution,
                  Wanted wanted, const Algorithm (&algorithms)[3], Algorithm algorithm) {
  const Call call(name);
  CUstream_st& stream = call.stream(arguments.handle->stream);
  if (const cudnnStatus_t status = check(convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (algorithm == algorithms[0]) fail("this algorithm's results do not repeat");
  if (algorithm != algorithms[2]) return CUDNN_STATUS_NOT_SUPPORTED;
  if (*static_cast<const float*>(arguments.alpha) != 1 ||
      *static_cast<const float*>(arguments.beta) != 0)
    fail("factors other than 1 and 0 are not emulated");
  if (arguments.workspace_bytes < kWorkspace) return CUDNN_STATUS_BAD_PARAM;

  Memory& memory = machine().memory;
  const auto expect = [&](const void* data, std::size_t numbers, const char* what) {
    memory.expect_device(stream.device, data, numbers * size_of(convolution.in.type), what);
  };
  expect(convolution.in_data, numbers_in(convolution.in), "the image or its gradient");
  expect(convolution.out_data, numbers_in(convolution.out), "the result or its gradient");
  expect(convolution.filter_data, numbers_in(convolution.filter), "the filter or its gradient");
  memory.expect_device(stream.device, arguments.workspace, arguments.workspace_bytes,
                       "the workspace");
  call.queue(stream, [convolution, wanted, workspace = arguments.workspace] {
    watch().operation_writes(workspace, kWorkspace);
    std::memset(workspace, 0xff, kWorkspace);
    compute(convolution, wanted);
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
  return list({*in, *out, *filter, *how}, kForward, asked, found, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(kForward, algorithm, bytes);
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
  return list({*in, *out, *filter, *how}, kBackwardData, asked, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(kBackwardData, algorithm, bytes);
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
  return list({*in, *out, *filter, *how}, kBackwardFilter, asked, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(kBackwardFilter, algorithm, bytes);
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
