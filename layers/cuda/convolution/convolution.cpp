#include "layers/cuda/convolution/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layers/cuda/convolution/convolution_list.h"
#include "layers/cuda/products/product.h"

// cuDNN's heuristic answers for one shape, but micro-batches differ in their numbers of rows. So it
// is asked for the end of a bucket of row counts, and its answer holds for the whole bucket. The
// answer is a list: an algorithm that fails for one micro-batch, because the workspace is too small
// or cuDNN refuses, is passed over, and the next one is tried. No choice depends on timings, so a
// run can be repeated exactly.

namespace penstock::layers::cuda {
namespace {

/// Returns the convolution at the end of the bucket of row counts, whose algorithms serve the whole
/// bucket. If that image would be too large for cuDNN, returns the convolution itself.
Convolution of_bucket(const Convolution& convolution) {
  const Conv2dGeometry& g = convolution.geometry;
  Convolution typical = convolution;
  typical.in_rows = bucket_of(convolution.in_rows);
  typical.out_rows = g.time.outputs(typical.in_rows);
  constexpr std::int64_t max = std::numeric_limits<int>::max();
  const bool fits =
      typical.in_rows * g.in_columns() <= max && typical.out_rows * g.out_columns() <= max;
  if (!fits) return convolution;
  return typical;
}

}  // namespace

Convolutions::Convolutions(Fp32Products of_fp32) : of_fp32_(of_fp32), library_(start_cudnn()) {}

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

/// Asks cuDNN's heuristic for deterministic algorithms, the fastest first. Each algorithm is kept
/// with its math type: its workspace, and whether cuDNN supports it, depend on both.
template <class Pass>
std::vector<Convolutions::Candidate> Convolutions::ask(const Convolution& c) const {
  const ConvolutionDescription of(c);
  const cudnnMathType_t permitted = permitted_math(c.dtype, of_fp32_);
  std::vector<Candidate> candidates;
  for (const auto& entry : algorithms_for<Pass>(library_.get(), c, of, permitted)) {
    if (entry.status != CUDNN_STATUS_SUCCESS || entry.determinism != CUDNN_DETERMINISTIC) continue;
    // If only FMA is permitted, an entry with CUDNN_DEFAULT_MATH must not bring in TF32.
    const auto math = permitted == CUDNN_FMA_MATH ? permitted : entry.mathType;
    of.use(math);
    std::size_t bytes = 0;
    if (Pass::bytes(library_.get(), of, entry.algo, &bytes) != CUDNN_STATUS_SUCCESS) continue;
    candidates.push_back({static_cast<int>(entry.algo), math, bytes});
  }
  // On an H100, TF32 algorithms that first copy a one-channel image to another layout take 4 to 13
  // times as long. Those whose workspace is too small for a copy of the image go first.
  if (Pass::kNumber == ForwardPass::kNumber && c.geometry.in_channels == 1)
    std::ranges::stable_partition(candidates, [&](const Candidate& candidate) {
      return candidate.bytes <
             static_cast<std::size_t>(c.in_rows * c.geometry.in_columns()) * size_of(c.dtype);
    });
  return candidates;
}

template <class Pass>
std::vector<Convolutions::Candidate>& Convolutions::candidates_for(const Convolution& c) {
  const Convolution typical = of_bucket(c);
  const Key key = key_of(Pass::kNumber, typical);
  auto place = candidates_.find(key);
  if (place == candidates_.end()) place = candidates_.emplace(key, ask<Pass>(typical)).first;
  return place->second;
}

/// Returns true if the algorithm needs more workspace for `c` than there is. This happens although
/// the larger convolution at the bucket's end needs less. cuDNN has then started nothing.
template <class Pass>
bool Convolutions::lacks_workspace(const ConvolutionDescription& of, const Convolution& c,
                                   int algorithm) const {
  std::size_t bytes = 0;
  return Pass::bytes(library_.get(), of, static_cast<typename Pass::Algorithm>(algorithm),
                     &bytes) == CUDNN_STATUS_SUCCESS &&
         bytes > c.workspace.size();
}

/// Runs the first candidate that fits the workspace. Some algorithms refuse only when they are run;
/// cuDNN has then started nothing, and the candidate is dropped for the whole bucket. If no
/// candidate is left, a kernel of ours runs.
template <class Pass>
void Convolutions::run(CudaStream& stream, const Convolution& c) {
  check(cudnnSetStream(library_.get(), stream.handle()), "giving cuDNN a stream");
  const ConvolutionDescription of(c);
  std::vector<Candidate>& candidates = candidates_for<Pass>(c);
  for (auto candidate = candidates.begin(); candidate != candidates.end();) {
    if (candidate->bytes > c.workspace.size()) {
      ++candidate;
      continue;
    }
    of.use(candidate->math);
    const cudnnStatus_t status = Pass::run(
        library_.get(), of, c, static_cast<typename Pass::Algorithm>(candidate->algorithm));
    if (is_refusal(status)) {
      candidate = candidates.erase(candidate);
      continue;
    }
    if (status == CUDNN_STATUS_BAD_PARAM && lacks_workspace<Pass>(of, c, candidate->algorithm)) {
      ++candidate;
      continue;
    }
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
