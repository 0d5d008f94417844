#include "layers/cuda/convolution.h"

#include <fmt/format.h>

#include <limits>

#include "layers/cuda/convolution_passes.h"
#include "layers/cuda/row_bucket.h"

namespace penstock::layers::cuda {
namespace {

/// More than cuDNN has of a kind, with every math type.
constexpr int kMostAlgorithms = 32;

/// cuDNN's way to say that it has no such algorithm, with or without a reason.
bool is_refusal(cudnnStatus_t status) {
  return CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED;
}

/// What the heuristic is asked with: it lists what that permits. CUDNN_DEFAULT_MATH lets FP32 be
/// multiplied in TF32, CUDNN_FMA_MATH does not.
cudnnMathType_t permitted_math(DType dtype, Fp32Products of_fp32) {
  if (dtype != DType::f32) return CUDNN_TENSOR_OP_MATH;
  return of_fp32 == Fp32Products::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

/// The convolution whose algorithms serve all of the bucket. Where such an image would be too large
/// for cuDNN, the convolution itself.
Convolution of_bucket(const Convolution& convolution) {
  const Conv2dGeometry& g = convolution.geometry;
  Convolution typical = convolution;
  typical.in_rows = bucket_of(convolution.in_rows);
  typical.out_rows = g.time.outputs(typical.in_rows);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const bool fits =
      typical.in_rows * g.in_columns() <= most && typical.out_rows * g.out_columns() <= most;
  if (!fits) return convolution;
  return typical;
}

}  // namespace

Convolutions::Convolutions(Fp32Products of_fp32) : of_fp32_(of_fp32) {
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "starting cuDNN");
  library_.reset(handle);
}

Convolutions::Key Convolutions::key_of(int pass, const Convolution& c) {
  const auto& [in_channels, out_channels, frequency, time, in_frequencies, lengths, depthwise] =
      c.geometry;
  return {pass,
          static_cast<std::int64_t>(c.dtype),
          c.in_rows,
          in_channels,
          out_channels,
          in_frequencies,
          frequency.kernel,
          frequency.stride,
          frequency.padding,
          time.kernel,
          time.stride,
          time.padding};
}

/// Asks cuDNN's heuristic, which lists the fastest first.
template <class Pass>
std::vector<Convolutions::Candidate> Convolutions::ask(const Convolution& c) const {
  const ConvolutionDescription of(c);
  const cudnnMathType_t permitted = permitted_math(c.dtype, of_fp32_);
  of.use(permitted);
  std::array<typename Pass::Listed, kMostAlgorithms> listed{};
  int found = 0;
  const cudnnStatus_t status =
      Pass::list(library_.get(), of, kMostAlgorithms, &found, listed.data());
  std::vector<Candidate> candidates;
  if (is_refusal(status)) return candidates;
  if (status != CUDNN_STATUS_SUCCESS)
    check(status, fmt::format("choosing an algorithm for {}, {}", text_of(c), Pass::kName));
  for (const auto& entry : std::span(listed).first(static_cast<std::size_t>(found))) {
    if (entry.status != CUDNN_STATUS_SUCCESS || entry.determinism != CUDNN_DETERMINISTIC) continue;
    // Where FMA alone is permitted, a list that says CUDNN_DEFAULT_MATH must not bring TF32.
    const auto math = permitted == CUDNN_FMA_MATH ? permitted : entry.mathType;
    candidates.push_back({static_cast<int>(entry.algo), math});
  }
  return candidates;
}

template <class Pass>
const std::vector<Convolutions::Candidate>& Convolutions::candidates_for(const Convolution& c) {
  const Convolution typical = of_bucket(c);
  const Key key = key_of(Pass::kNumber, typical);
  auto place = candidates_.find(key);
  if (place == candidates_.end()) place = candidates_.emplace(key, ask<Pass>(typical)).first;
  return place->second;
}

/// An algorithm goes with its math type: only of both together cuDNN knows the workspace, and
/// whether the two will do. Some refuse when they are to run; then nothing was started.
template <class Pass>
void Convolutions::run(CudaStream& stream, const Convolution& c) {
  check(cudnnSetStream(library_.get(), stream.handle()), "giving cuDNN a stream");
  const ConvolutionDescription of(c);
  for (const Candidate& candidate : candidates_for<Pass>(c)) {
    const auto algorithm = static_cast<typename Pass::Algorithm>(candidate.algorithm);
    of.use(candidate.math);
    std::size_t bytes = 0;
    if (Pass::bytes(library_.get(), of, algorithm, &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > c.workspace.size())
      continue;
    const cudnnStatus_t status = Pass::run(library_.get(), of, c, algorithm);
    if (is_refusal(status)) continue;
    if (status != CUDNN_STATUS_SUCCESS)
      check(status, fmt::format("{}, {}", text_of(c), Pass::kName));
    return;
  }
  Pass::directly(stream, c);
}

void Convolutions::forward(CudaStream& stream, const Convolution& convolution) {
  run<ForwardPass>(stream, convolution);
}

void Convolutions::backward_input(CudaStream& stream, const Convolution& convolution) {
  run<BackwardInputPass>(stream, convolution);
}

void Convolutions::backward_filter(CudaStream& stream, const Convolution& convolution) {
  run<BackwardFilterPass>(stream, convolution);
}

}  // namespace penstock::layers::cuda
