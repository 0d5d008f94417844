#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/batch/batching.h"
#include "runtime/data/batch/mixture.h"

namespace penstock::runtime {

/// The work of one optimizer step.
struct StepBatches {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::vector<MicroBatch> micro_batches;  // canonical order: as sampled, or by options.order
  std::vector<int> lanes;                 // lane of each micro-batch
  std::int64_t utterances = 0;            // sum over all lanes; the loss is divided by it
};

/// An epoch, its first step, and the first of its micro-batches that is used.
struct EpochStart {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t micro_batch = 0;
};

struct StepSequenceOptions {
  Lengths lengths;  // the corpus's lengths
  configs::DataConfig data;
  configs::FeatureConfig features;
  std::uint64_t seed = 0;
  int lanes = 1;
  std::vector<int> order = {};   // trainer.order
  EpochStart start = {};         // set if a run's data changed: they hold from this step on
  Mixture mixture = {};          // the corpus's mixture
  std::int64_t most_labels = 0;  // the corpus's
  double labels_per_second = 0;  // the corpus's; 0: not known
};

/// Determines the utterances of every training step. It is a pure function of the options, so every
/// rank knows the shapes of all steps, and a run can resume at any of them. Thread-safe.
///
/// Two epochs are cached, see Epoch. Once a run is in the second half of an epoch, the next one is
/// formed in a thread of its own.
///
/// A step takes data.micro_batches of an epoch's micro-batches; the last step of an epoch may have
/// fewer. They are dealt to lanes in rounds, the costliest first: in each round, the next goes to
/// the lane with the fewest frames so far. So lanes differ by at most one micro-batch. After
/// dealing, the micro-batches are put into `order`. In a step with n micro-batches, entries of n
/// and above are skipped.
class StepSequence {
 public:
  /// Throws ConfigError if keys of [data] or the order are inconsistent, or if an utterance at the
  /// slowest speed is longer than data.micro_batch_seconds.
  explicit StepSequence(StepSequenceOptions);
  ~StepSequence();
  StepSequence(StepSequence&&) noexcept;
  StepSequence& operator=(StepSequence&&) noexcept;

  /// Returns the batches of a step. Steps are counted over all epochs, from 0 or from options.start
  /// on.
  [[nodiscard]] StepBatches at(std::int64_t step) const;

  const StepSequenceOptions& options() const;

  /// Returns the steps of an epoch. Sampled speeds make epochs differ.
  std::int64_t steps_in_epoch(std::int64_t epoch) const;

  /// Records that an epoch begins at `first_step`. Later steps are counted from there, without
  /// forming earlier epochs.
  void know(std::int64_t epoch, std::int64_t first_step);

  /// Returns the bytes of a formed epoch, for take() in another process with the same options.
  [[nodiscard]] std::string bytes_of(std::int64_t epoch) const;
  /// Accepts an epoch that another process formed. Throws DataError like Epoch.
  void take(std::int64_t epoch, std::string_view bytes);

  /// Returns the longest micro-batches of the first epoch (options.start), longest first. Equal
  /// ones are sorted by their places in its steps.
  [[nodiscard]] std::vector<MicroBatch> longest(std::size_t count) const;

  /// Returns how many epochs have been formed.
  std::int64_t epochs_formed() const;

 private:
  class Epochs;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
