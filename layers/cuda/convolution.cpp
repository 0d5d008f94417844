#include "layers/cuda/convolution.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/error.h"
#include "layers/cuda/convolution_description.h"

namespace penstock::layers::cuda {
namespace {

constexpr float kOne = 1, kZero = 0;

/// More than cuDNN has of a kind.
constexpr int kMostAlgorithms = 16;

/// Asks cuDNN's heuristic, which lists the fastest first, and takes the first that gives the same
/// bits again and fits. `ask(asked, found, list)` and `bytes(algorithm, &bytes)` are cuDNN's calls.
template <class Listed, class Ask, class Bytes>
auto choose(const Convolution& convolution, const char* pass, Ask ask, Bytes bytes_of) {
  std::array<Listed, kMostAlgorithms> list{};
  int found = 0;
  const std::string what = fmt::format("{}, {}", text_of(convolution), pass);
  check(ask(kMostAlgorithms, &found, list.data()), "choosing an algorithm for " + what);
  for (int i = 0; i < found; ++i) {
    std::size_t bytes = 0;
    if (list[i].status == CUDNN_STATUS_SUCCESS && list[i].determinism == CUDNN_DETERMINISTIC &&
        bytes_of(list[i].algo, &bytes) == CUDNN_STATUS_SUCCESS &&
        bytes <= convolution.workspace.size())
      return list[i].algo;
  }
  throw DeviceError(
      fmt::format("{}: none of {} algorithms repeats its results within a workspace of {} bytes",
                  what, found, convolution.workspace.size()));
}

}  // namespace

Convolutions::Convolutions() {
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "starting cuDNN");
  library_.reset(handle);
}

cudnnHandle_t Convolutions::on(CudaStream& stream) const {
  check(cudnnSetStream(library_.get(), stream.handle()), "giving cuDNN a stream");
  return library_.get();
}

void Convolutions::forward(CudaStream& stream, const Convolution& c) const {
  cudnnHandle_t library = on(stream);
  const ConvolutionDescription of(c);
  const auto algorithm = choose<cudnnConvolutionFwdAlgoPerf_t>(
      c, "forward",
      [&](int asked, int* found, auto* list) {
        return cudnnGetConvolutionForwardAlgorithm_v7(
            library, of.in(), of.filter(), of.convolution(), of.out(), asked, found, list);
      },
      [&](auto candidate, std::size_t* bytes) {
        return cudnnGetConvolutionForwardWorkspaceSize(
            library, of.in(), of.filter(), of.convolution(), of.out(), candidate, bytes);
      });
  check(cudnnConvolutionForward(library, &kOne, of.in(), c.in, of.filter(), c.filter,
                                of.convolution(), algorithm, c.workspace.data(), c.workspace.size(),
                                &kZero, of.out(), c.out),
        text_of(c));
}

void Convolutions::backward_input(CudaStream& stream, const Convolution& c) const {
  cudnnHandle_t library = on(stream);
  const ConvolutionDescription of(c);
  const auto algorithm = choose<cudnnConvolutionBwdDataAlgoPerf_t>(
      c, "gradient of the input",
      [&](int asked, int* found, auto* list) {
        return cudnnGetConvolutionBackwardDataAlgorithm_v7(
            library, of.filter(), of.out(), of.convolution(), of.in(), asked, found, list);
      },
      [&](auto candidate, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            library, of.filter(), of.out(), of.convolution(), of.in(), candidate, bytes);
      });
  check(cudnnConvolutionBackwardData(library, &kOne, of.filter(), c.filter, of.out(), c.out,
                                     of.convolution(), algorithm, c.workspace.data(),
                                     c.workspace.size(), &kZero, of.in(), c.in),
        text_of(c));
}

void Convolutions::backward_filter(CudaStream& stream, const Convolution& c) const {
  cudnnHandle_t library = on(stream);
  const ConvolutionDescription of(c);
  const auto algorithm = choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
      c, "gradient of the filter",
      [&](int asked, int* found, auto* list) {
        return cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            library, of.in(), of.out(), of.convolution(), of.filter(), asked, found, list);
      },
      [&](auto candidate, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            library, of.in(), of.out(), of.convolution(), of.filter(), candidate, bytes);
      });
  check(cudnnConvolutionBackwardFilter(library, &kOne, of.in(), c.in, of.out(), c.out,
                                       of.convolution(), algorithm, c.workspace.data(),
                                       c.workspace.size(), &kZero, of.filter(), c.filter),
        text_of(c));
}

}  // namespace penstock::layers::cuda
