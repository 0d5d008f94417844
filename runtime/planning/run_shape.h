#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "base/known.h"
#include "configs/config.h"
#include "partition/memory/chunk_bytes.h"
#include "partition/model/layer_sequence.h"
#include "partition/schedule/run_schedule.h"
#include "runtime/data/extent.h"

namespace penstock::runtime {

/// What a run is planned for.
struct RunShape {
  /// Feature frames of the utterances of some micro-batches, by length, for the costs.
  std::vector<std::vector<std::int64_t>> micro_batches;
  int labels = 0;              // blank included
  WorkExtent training = {};    // of every step
  WorkExtent validation = {};  // of a pass, over all replicas; empty: there is none
  /// [size][sample]: feature frames of the micro-batch of that size, 0 being the longest, in some
  /// steps of the first epoch. Empty where nothing is trained.
  std::vector<std::vector<std::vector<std::int64_t>>> by_size = {};
};

/// The shape of a training of `steps`, which validates on utterances of `validation` lengths.
[[nodiscard]] RunShape shape_of_run(const configs::Config& config, const StepSequence& steps,
                                    const Lengths& validation, int labels);

/// The shape of a pass over utterances of these lengths, for the costs alone.
[[nodiscard]] RunShape shape_of_recognition(const configs::Config& config, const Lengths& lengths,
                                            int labels);

/// Lengths of one micro-batch for which no stage needs fewer bytes than for any within `extent`: as
/// many utterances, one as long as the longest, and as many frames in all, rounded up to lengths
/// at which strides lose none. That is so because what layers ask for grows with frames, utterances
/// and the longest of them.
std::vector<std::int64_t> covering_lengths(const MicroBatchExtent& extent,
                                           const partition::LayerSequence& sequence);

/// Who carries what devices hold: NCCL if this build has it, or NCCL in any case, as on a cluster
/// that is planned from elsewhere. Its buffers are known without it.
enum class DeviceMessages { as_built, nccl };

/// bytes_of_run() of many runs of one layer sequence, which differ in batch, stages, replicas,
/// schedule, recomputed layers and whether replicas share the update: what they have in common is
/// planned once, on any thread.
class RunBytes {
 public:
  /// `sequence` must outlive this and what it returns. Types and optimizer of all runs are those of
  /// `config`.
  RunBytes(const partition::LayerSequence& sequence, const configs::Config& config,
           DeviceMessages messages = DeviceMessages::as_built);

  [[nodiscard]] partition::ChunkBytes of(const configs::Config& config, const RunShape& shape,
                                         const partition::RunSchedule& schedule);

 private:
  const std::vector<std::int64_t>& covering(const MicroBatchExtent& extent);
  const partition::ParameterBytes& parameters(const configs::Config& config, int lanes);

  const partition::LayerSequence& sequence_;
  DeviceMessages messages_;
  std::shared_ptr<partition::SequenceBytes> known_;
  Known<MicroBatchExtent, std::vector<std::int64_t>> covering_;
  /// Of so many replicas, of which so many share the update, and lanes; with NCCL or without.
  Known<std::tuple<int, int, int, bool>, partition::ParameterBytes> parameters_;
};

/// What chunks need so that every step of the run fits under `schedule` and, in turn with it, every
/// validation: on the replica that needs most.
[[nodiscard]] partition::ChunkBytes bytes_of_run(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const partition::RunSchedule& schedule, DeviceMessages messages = DeviceMessages::as_built);
/// The same under pipeline.schedule, which must be one that make_schedule makes.
[[nodiscard]] partition::ChunkBytes bytes_of_run(const partition::LayerSequence& sequence,
                                                 const configs::Config& config,
                                                 const RunShape& shape);

}  // namespace penstock::runtime
