#include "layers/ops/ctc.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/ctc_lattice.h"
#include "layers/cpu/dispatch.h"

namespace penstock {
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

void expect_targets_that_fit(const CtcLoss& op) {
  const Targets& targets = op.targets;
  const std::size_t utterances = op.lengths.size();
  if (targets.lengths.size() != utterances || targets.weights.size() != utterances ||
      targets.losses.size() != utterances)
    throw ShapeError("CTC was given " + std::to_string(utterances) + " utterances, labels of " +
                     std::to_string(targets.lengths.size()) + ", weights of " +
                     std::to_string(targets.weights.size()) + " and losses of " +
                     std::to_string(targets.losses.size()));
  std::size_t labels = 0;
  for (std::int32_t count : targets.lengths) labels += static_cast<std::size_t>(count);
  if (labels != targets.labels.size())
    throw ShapeError("CTC was given " + std::to_string(targets.labels.size()) +
                     " labels for utterances of " + std::to_string(labels));
  const auto classes = static_cast<std::int32_t>(op.logits_FC.shape[1]);
  for (std::int32_t label : targets.labels)
    if (label < 1 || label >= classes)
      throw ShapeError("CTC label " + std::to_string(label) + " is not among the classes 1 to " +
                       std::to_string(classes - 1));
}

template <class T>
void log_softmax(T* logits, T* result, std::int64_t classes) {
  const auto x = row(logits, classes);
  const T top = x.maxCoeff();
  row(result, classes) = x - (top + std::log((x - top).exp().sum()));
}

// The loss of one utterance. `gradient` (or null) first holds log-probabilities, then its result.
template <class T>
double run_utterance(Room<T>& room, std::span<const std::int32_t> labels, std::int64_t frames,
                     std::int64_t classes, T* logits, T* gradient, T factor) {
  if (ctc_frames_needed(labels) > frames) {
    if (gradient != nullptr) std::fill_n(gradient, frames * classes, T{0});
    return 0;
  }
  room.lattice.set(labels, frames);
  for (std::int64_t t = 0; t < frames; ++t) {
    T* log_p = gradient != nullptr ? gradient + t * classes : room.log_probabilities;
    log_softmax(logits + t * classes, log_p, classes);
    room.lattice.advance(t, log_p);
  }
  const double loss = room.lattice.loss();
  if (gradient == nullptr) return loss;
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    auto occupancy = row(room.occupancy, classes);
    occupancy.setZero();
    auto g = row(gradient + t * classes, classes);
    room.lattice.retreat(t, gradient + t * classes, room.occupancy);
    g = (g.exp() - occupancy) * factor;
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
    targets.losses[u] =
        weight * run_utterance(room, targets.labels.subspan(first_label, count), op.lengths[u],
                               classes, logits, gradient, static_cast<T>(weight * targets.scale));
    first_label += count;
    logits += op.lengths[u] * classes;
    if (gradient != nullptr) gradient += op.lengths[u] * classes;
    stream.poll();
  }
}

}  // namespace

std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes,
                          DType dtype) {
  Scratch counted;
  if (dtype == DType::f64)
    Room<double>(counted, longest(lengths), classes);
  else
    Room<float>(counted, longest(lengths), classes);
  return counted.used();
}

std::int64_t ctc_frames_needed(std::span<const std::int32_t> labels) {
  auto needed = static_cast<std::int64_t>(labels.size());
  for (std::size_t i = 1; i < labels.size(); ++i) needed += labels[i] == labels[i - 1];
  return needed;
}

void CpuBackend::run(Stream& stream, const CtcLoss& op) {
  expect_targets_that_fit(op);
  for_real(op.logits_FC.dtype, "CtcLoss", [&]<class T>(T) { run_all<T>(stream, op); });
}

}  // namespace penstock
