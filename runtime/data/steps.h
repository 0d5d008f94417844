#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/batching.h"
#include "runtime/data/mixture.h"

namespace penstock::runtime {

/// One optimizer step.
struct StepBatches {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::vector<MicroBatch> micro_batches;  // canonical order: as sampled, or by options.order
  std::vector<int> lanes;                 // of each micro-batch
  std::int64_t utterances = 0;            // in all; what the loss is divided by
};

/// Where an epoch begins.
struct EpochStart {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
};

struct StepSequenceOptions {
  Lengths lengths;  // of the corpus
  configs::DataConfig data;
  configs::FeatureConfig features;
  std::uint64_t seed = 0;
  int lanes = 1;
  std::vector<int> order = {};  // trainer.order
  EpochStart start = {};        // of a run whose data changed on the way: they are these from there
  Mixture mixture = {};         // of the corpus
};

/// Which utterances every step of a training holds: a pure function of the options, so every rank
/// knows all shapes of all steps, and a run can go on from any of them. May be shared by threads.
///
/// Two epochs are kept, see Epoch. The next one is formed in a thread of its own once a run is in
/// the second half of one.
///
/// An epoch's micro-batches are taken data.micro_batches at a time; the last
/// step of an epoch may have fewer. They are dealt to lanes in turns, the costliest first, in each
/// turn to the lane with the least frames so far: counts differ by at most one. Whatever their
/// lane, they are then put into `order`; of a step with n micro-batches, places of n and more are
/// left out.
class StepSequence {
 public:
  /// ConfigError if keys of [data] or the order don't fit, or an utterance at the slowest speed is
  /// longer than data.micro_batch_seconds.
  explicit StepSequence(StepSequenceOptions);
  ~StepSequence();
  StepSequence(StepSequence&&) noexcept;
  StepSequence& operator=(StepSequence&&) noexcept;

  /// The batches of a step, counted from 0 over all epochs, or from the start on.
  [[nodiscard]] StepBatches at(std::int64_t step) const;

  const StepSequenceOptions& options() const;

  /// Epochs may differ in steps where speeds are sampled.
  std::int64_t steps_in_epoch(std::int64_t epoch) const;

  /// That an epoch begins at a step: the steps behind it count from there, and no epoch before it
  /// is formed to find that out.
  void know(std::int64_t epoch, std::int64_t first_step);

  /// An epoch as it is formed, for take() of another process with the same options.
  [[nodiscard]] std::string bytes_of(std::int64_t epoch) const;
  /// An epoch that need not be formed here. DataError as Epoch's.
  void take(std::int64_t epoch, std::string_view bytes);

  /// The longest micro-batches of the start's epoch, longest first; those that are equal, by their
  /// places in its steps.
  [[nodiscard]] std::vector<MicroBatch> longest(std::size_t count) const;

  /// How many epochs were formed so far.
  std::int64_t epochs_formed() const;

 private:
  class Epochs;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
