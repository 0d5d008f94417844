#include <vector>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/training/ctc_lattice.h"
#include "layers/ops/ctc.h"

namespace penstock::layers {
namespace cuda {
namespace {

// CTC loss and gradient by the forward-backward algorithm (Graves et al. 2006), in the log domain.
//
// Three kernels run: log_softmax() over all frames, sum_paths() for the forward and the backward
// sums of all utterances at once, and take_gradient() over all frames. Sums are kept only in the
// band of states that a path can have reached and from which it can still finish (CtcLattice). An
// utterance of T frames and L labels has 2 L (T - L) + T of them. Time is serial in T alone,
// because the states of a frame are computed in parallel.

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/// Computes log-softmax over the classes. One warp for each frame.
template <class T>
__global__ void __launch_bounds__(kThreads)
    log_softmax(const T* logits, float* log_p, std::int64_t rows, std::int64_t classes) {
  const std::int64_t row = block_x() * kWarps + thread_x() / kWarp;
  if (row >= rows) return;
  const T* const x = logits + row * classes;
  const int lane = thread_x() % kWarp;
  float top = kLogZero, sum = 0;
  for (std::int64_t c = lane; c < classes; c += kWarp) top = Largest{}(to_float(x[c]), top);
  top = combine_warp(top, Largest{});
  for (std::int64_t c = lane; c < classes; c += kWarp) sum += expf(to_float(x[c]) - top);
  const float shift = top + logf(combine_warp(sum, Sum{}));
  for (std::int64_t c = lane; c < classes; c += kWarp)
    log_p[row * classes + c] = to_float(x[c]) - shift;
}

/// Returns log(e^a + e^b + e^c).
__device__ float log_of_sum(float a, float b, float c) {
  const float larger = a > b ? a : b, smaller = a > b ? b : a;
  const float max = larger > c ? larger : c, other = larger > c ? c : larger;
  return max + logf(1 + expf(other - max) + expf(smaller - max));
}

/// Computes the log-domain sums over paths, from the start and, mirrored, from the end. Block
/// (utterance, direction) goes through the frames with one barrier each; threads share a frame's
/// states. A frame's sums are relative to the max of the frame before, so that they stay near 0:
///   sum_0(s) = p_0(s), p_t(s) = log-probability of state s's class at frame t
///   sum_t(s) = p_t(s) + log(exp sum_{t-1}(s) + exp sum_{t-1}(s-1) + exp sum_{t-1}(s-2)) - shift
/// The last term counts only if a path may skip. At frame t, `shift` is the max of sum_{t-1}, and
/// `offset` is the sum of all shifts so far, in FP64.
///
/// With smoothing, the cross-entropy of a uniform distribution over all frames is added as well.
__global__ void __launch_bounds__(kThreads)
    sum_paths(CtcWorkspace room, std::int64_t classes, const float* weights, double smoothing) {
  BLOCK_SHARED(float, largest_of_warp, [2][kWarps]);
  BLOCK_SHARED(double, uniform_of_warp, [kWarps]);
  const CtcUtterance& utterance = room.utterances[block_x()];
  const bool mirrored = block_y() == 1;
  if (!utterance.feasible || utterance.frames == 0) {
    if (!mirrored && thread_x() == 0) room.losses[block_x()] = 0;
    return;
  }
  const CtcLattice lattice(utterance, room.labels, mirrored);
  float* const sums = (mirrored ? room.from_end : room.from_start) + utterance.first_sum;
  const float* const log_p = room.log_probabilities + utterance.first_row * classes;
  float shift = 0;
  double offset = 0;
  for (std::int64_t t = 0; t < lattice.frames; ++t) {
    const float* const emitted = log_p + lattice.frame(t) * classes;
    float* const to = sums + lattice.band(t);
    const float* const from = sums + (t == 0 ? 0 : lattice.band(t - 1));
    const auto before = [&](std::int64_t state) { return lattice.sum(from, t - 1, state); };
    offset += shift;
    float largest = kLogZero;
    for (std::int64_t s = lattice.begin(t) + thread_x(); s < lattice.end(t); s += kThreads) {
      float sum = 0;
      if (t > 0)
        sum = log_of_sum(before(s), before(s - 1),
                         lattice.may_skip_to(s) ? before(s - 2) : kLogZero) -
              shift;
      sum += emitted[lattice.class_of(s)];
      to[s] = sum;
      largest = Largest{}(sum, largest);
    }
    shift = combine_block(largest, largest_of_warp[t % 2], Largest{});
  }
  if (mirrored) return;
  double uniform = 0;
  if (smoothing > 0) {
    for (std::int64_t i = thread_x(); i < lattice.frames * classes; i += kThreads)
      uniform -= log_p[i];
    uniform = combine_block(uniform, uniform_of_warp, Sum{}) / static_cast<double>(classes);
  }
  if (thread_x() != 0) return;
  const std::int64_t last = lattice.frames - 1;
  const float* const sums_at_last = sums + lattice.band(last);
  const float end = lattice.sum(sums_at_last, last, lattice.states - 1),
              before_end = lattice.sum(sums_at_last, last, lattice.states - 2);
  const double likelihood = offset + static_cast<double>(log_of_sum(end, before_end, kLogZero));
  room.losses[block_x()] = static_cast<double>(weights[block_x()]) *
                           (smoothing * uniform - (1 - smoothing) * likelihood);
}

/// These multiply the gradient of an utterance, with the label smoothing.
struct GradientFactors {
  const float* weights;  // of utterances
  double scale, smoothing;
};

/// Computes the gradient (softmax - (1 - ε) · occupancy - ε / V) · weight · scale of the logits,
/// with the smoothing ε. One block for each frame. The share of a state in the labels' probability
/// overwrites its forward sum. Each class then sums the shares of its states, which costs classes ·
/// labels of the band for a frame.
template <class T>
__global__ void __launch_bounds__(kThreads)
    take_gradient(CtcWorkspace room, Utterances map, std::int64_t classes, GradientFactors factors,
                  T* gradient) {
  BLOCK_SHARED(float, of_warp, [3][kWarps]);
  const std::int64_t row = block_x();
  const int u = map.of_row[row];
  const CtcUtterance& utterance = room.utterances[u];
  const float* const log_p = room.log_probabilities + row * classes;
  T* const g = gradient + row * classes;
  if (!utterance.feasible) {
    for (std::int64_t c = thread_x(); c < classes; c += kThreads) g[c] = from_float<T>(0.0f);
    return;
  }
  const CtcLattice lattice(utterance, room.labels, false), mirror(utterance, room.labels, true);
  const std::int64_t t = row - utterance.first_row, last = lattice.states - 1;
  float* const share = room.from_start + utterance.first_sum + lattice.band(t);
  const float* const from_end =
      room.from_end + utterance.first_sum + mirror.band(lattice.frames - 1 - t);

  float top = kLogZero;
  for (std::int64_t s = lattice.begin(t) + thread_x(); s < lattice.end(t); s += kThreads) {
    share[s] += from_end[last - s] - log_p[lattice.class_of(s)];  // both sums contain it
    top = Largest{}(share[s], top);
  }
  top = combine_block(top, of_warp[0], Largest{});
  float sum = 0, blank = 0;
  for (std::int64_t s = lattice.begin(t) + thread_x(); s < lattice.end(t); s += kThreads) {
    share[s] = expf(share[s] - top);
    sum += share[s];
    if (s % 2 == 0) blank += share[s];
  }
  sum = combine_block(sum, of_warp[1], Sum{});
  blank = combine_block(blank, of_warp[2], Sum{});

  const auto factor = static_cast<float>(static_cast<double>(factors.weights[u]) * factors.scale);
  const auto kept = static_cast<float>(1 - factors.smoothing);
  const auto spread = static_cast<float>(factors.smoothing / static_cast<double>(classes));
  for (std::int64_t c = thread_x(); c < classes; c += kThreads) {
    float occupancy = c == 0 ? blank : 0.0f;
    for (std::int64_t s = lattice.begin(t) | 1; c > 0 && s < lattice.end(t); s += 2)
      if (lattice.class_of(s) == c) occupancy += share[s];
    g[c] = from_float<T>((expf(log_p[c]) - occupancy / sum * kept - spread) * factor);
  }
}

/// Copies the utterances and labels of the micro-batch to the device. An utterance with too few
/// frames for its labels is marked infeasible and gets no labels.
void upload(CudaStream& stream, const CtcLoss& op, const CtcWorkspace& room) {
  const Targets& targets = op.targets;
  std::vector<CtcUtterance> utterances;
  std::vector<std::int32_t> labels;
  CtcUtterance next;
  std::size_t first_label = 0;
  for (std::size_t u = 0; u < op.lengths.size(); ++u) {
    const auto own =
        targets.labels.subspan(first_label, static_cast<std::size_t>(targets.lengths[u]));
    next.frames = op.lengths[u];
    next.feasible = ctc_frames_needed(own) <= next.frames;
    next.first_label = static_cast<std::int64_t>(labels.size());
    next.labels = static_cast<std::int64_t>(own.size());
    utterances.push_back(next);
    if (next.feasible) labels.insert(labels.end(), own.begin(), own.end());
    first_label += own.size();
    next.first_row += next.frames;
    next.first_sum += max_sums(next.frames);
  }
  stream.copy_in(room.utterances, utterances.data(), utterances.size() * sizeof(CtcUtterance));
  stream.copy_in(room.labels, labels.data(), labels.size() * sizeof(std::int32_t));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const CtcLoss& op) {
  expect_targets_that_fit(op);
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t rows = op.logits_FC.shape.at(0), classes = op.logits_FC.shape.at(1);
  const auto utterances = static_cast<unsigned>(op.lengths.size());
  Scratch scratch(op.workspace);
  const cuda::CtcWorkspace room(scratch, op.lengths, classes);
  cuda::upload(own, op, room);
  cuda::with_type_of(op.logits_FC, "CtcLoss", [&]<class T>(T) {
    const auto blocks = static_cast<unsigned>((rows + cuda::kWarps - 1) / cuda::kWarps);
    cuda::launch(own.handle(), {dim3(blocks), dim3(cuda::kThreads)}, cuda::log_softmax<T>,
                 cuda::data_of<T>(op.logits_FC), room.log_probabilities, rows, classes);
  });
  cuda::launch(own.handle(), {dim3(utterances, 2), dim3(cuda::kThreads)}, cuda::sum_paths, room,
               classes, op.targets.weights.data(), op.smoothing);
  own.copy_out(op.targets.losses.data(), room.losses, op.targets.losses.size_bytes());
  if (op.gradient_FC.data == nullptr) return;
  const cuda::Utterances map = cuda::upload_utterances(own, op.lengths, room.map);
  cuda::with_type_of(op.gradient_FC, "CtcLoss", [&]<class T>(T) {
    cuda::launch(own.handle(), {dim3(static_cast<unsigned>(rows)), dim3(cuda::kThreads)},
                 cuda::take_gradient<T>, room, map, classes,
                 cuda::GradientFactors{op.targets.weights.data(), op.targets.scale, op.smoothing},
                 cuda::data_of<T>(op.gradient_FC));
  });
}

}  // namespace penstock::layers
