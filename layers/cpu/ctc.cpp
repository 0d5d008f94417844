#include "layers/ops/ctc.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/ctc_lattice.h"
#include "layers/cpu/sizes.h"

// CTC loss and gradient by the forward-backward algorithm (Graves et al. 2006), one utterance at a
// time. CtcLattice holds the recursion. Log-probabilities of an utterance are kept in the
// gradient's memory until its gradient overwrites them.
//
// An utterance takes two passes over its frames. The first goes forward: log-softmax of a frame,
// then one step of the lattice. The second goes backward and leaves the share of all paths that
// pass through each class at each frame. A pass costs, for each frame, its classes and the
// lattice's band of states.

namespace penstock::layers {
namespace {

template <class T>
auto row(T* data, std::int64_t count) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(data, count);
}

std::int64_t longest(std::span<const std::int64_t> lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

template <class T>
struct Room {
  Room(Scratch& scratch, std::int64_t frames, std::int64_t classes)
      : lattice(scratch, frames),
        log_probabilities(scratch.take<T>(classes)),
        occupancy(scratch.take<T>(classes)) {}
  CtcLattice<T> lattice;
  T* log_probabilities;
  T* occupancy;
};

template <class T>
void log_softmax(T* logits, T* result, std::int64_t classes) {
  const auto x = row(logits, classes);
  const T top = x.maxCoeff();
  row(result, classes) = x - (top + std::log((x - top).exp().sum()));
}

template <class T>
struct Utterance {
  std::span<const std::int32_t> labels;
  std::int64_t frames, classes;
  T* logits;
  T* gradient;  // or null; holds log-probabilities, then the gradient
  T factor;     // scales the gradient
  double smoothing;
};

/// Returns the loss of one utterance, and computes its gradient if that is wanted. Both are 0 if
/// the utterance has too few frames for its labels.
template <class T>
double run_utterance(Room<T>& room, const Utterance<T>& utterance) {
  const auto& [labels, frames, classes, logits, gradient, factor, smoothing] = utterance;
  if (ctc_frames_needed(labels) > frames) {
    if (gradient != nullptr) std::fill_n(gradient, frames * classes, T{0});
    return 0;
  }
  room.lattice.set(labels, frames);
  double uniform = 0;  // cross-entropy of a uniform distribution, over all frames
  for (std::int64_t t = 0; t < frames; ++t) {
    T* log_p = gradient != nullptr ? gradient + t * classes : room.log_probabilities;
    log_softmax(logits + t * classes, log_p, classes);
    room.lattice.advance(t, log_p);
    if (smoothing > 0) uniform -= static_cast<double>(row(log_p, classes).mean());
  }
  const double loss = (1 - smoothing) * room.lattice.loss() + smoothing * uniform;
  if (gradient == nullptr) return loss;
  // d loss / d logit of class c at frame t is its probability minus the share of paths through it,
  // of which smoothing takes a part that it spreads over all classes.
  const auto kept = static_cast<T>(1 - smoothing);
  const auto spread = static_cast<T>(smoothing / static_cast<double>(classes));
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    auto occupancy = row(room.occupancy, classes);
    occupancy.setZero();
    auto g = row(gradient + t * classes, classes);
    room.lattice.retreat(t, gradient + t * classes, room.occupancy);
    g = (g.exp() - occupancy * kept - spread) * factor;
  }
  return loss;
}

template <class T>
void run_all(Stream& stream, const CtcLoss& op) {
  const std::int64_t classes = op.logits_FC.shape[1];
  Scratch scratch(op.workspace);
  Room<T> room(scratch, longest(op.lengths), classes);
  const Targets& targets = op.targets;
  T* logits = op.logits_FC.as<T>();
  T* gradient = op.gradient_FC.data == nullptr ? nullptr : op.gradient_FC.as<T>();
  std::size_t first_label = 0;
  for (std::size_t u = 0; u < op.lengths.size(); ++u) {
    const auto count = static_cast<std::size_t>(targets.lengths[u]);
    const double weight = targets.weights[u];
    const Utterance<T> utterance{.labels = targets.labels.subspan(first_label, count),
                                 .frames = op.lengths[u],
                                 .classes = classes,
                                 .logits = logits,
                                 .gradient = gradient,
                                 .factor = static_cast<T>(weight * targets.scale),
                                 .smoothing = op.smoothing};
    targets.losses[u] = weight * run_utterance(room, utterance);
    first_label += count;
    logits += op.lengths[u] * classes;
    if (gradient != nullptr) gradient += op.lengths[u] * classes;
    stream.progress();
  }
}

}  // namespace

std::size_t cpu::ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes,
                               DType dtype) {
  Scratch counted;
  if (dtype == DType::f64)
    Room<double>(counted, longest(lengths), classes);
  else
    Room<float>(counted, longest(lengths), classes);
  return counted.used();
}

template <>
void CpuBackend::compute(Stream& stream, const CtcLoss& op) {
  expect_targets_that_fit(op);
  for_real(op.logits_FC.dtype, "CtcLoss", [&]<class T>(T) { run_all<T>(stream, op); });
}

}  // namespace penstock::layers
