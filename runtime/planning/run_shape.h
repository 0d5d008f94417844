#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "configs/config.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/layout/layer_sequence.h"
#include "partition/schedule/run_schedule.h"
#include "runtime/corpus/corpora.h"
#include "runtime/data/batch/extent.h"

namespace penstock::runtime {

/// The dimensions of a run that its plan depends on.
struct RunShape {
  /// Feature frames of the utterances of some micro-batches, sorted by length. The costs are
  /// computed from them.
  std::vector<std::vector<std::int64_t>> micro_batches;
  int labels = 0;              // including the blank
  WorkExtent training = {};    // maximum over all steps
  WorkExtent validation = {};  // one pass over all replicas; empty: no validation
  /// [size][sample]: feature frames of the micro-batch of that size, where 0 is the longest, in
  /// some steps of the first epoch. Empty if nothing is trained.
  std::vector<std::vector<std::vector<std::int64_t>>> by_size = {};
  /// Labels of the texts for each feature frame, on average; 0: not known.
  double labels_per_frame = 0;
};

/// Returns the lengths of utterances of so many feature frames, whose texts are as long as the
/// run's usually are.
[[nodiscard]] partition::MicroBatchLengths usual_lengths(const RunShape& shape,
                                                         const std::vector<std::int64_t>& frames);

/// Returns the lengths of the micro-batch that stands for all in the costs: it is of middling size.
[[nodiscard]] partition::MicroBatchLengths middling_lengths(const RunShape& shape);

/// Returns the shape of a training run over `steps` that validates on these utterances.
[[nodiscard]] RunShape shape_of_run(const configs::Config& config, const StepSequence& steps,
                                    const PlannedValidation& validation, int labels);

/// Returns the shape of one pass over utterances of these lengths, for the costs alone.
[[nodiscard]] RunShape shape_of_recognition(const configs::Config& config, const Lengths& lengths,
                                            int labels);

/// Returns the lengths of one micro-batch that needs at least as many bytes, on any stage, as any
/// micro-batch within `extent`. It has as many utterances, one as long as the longest, and as many
/// frames in all, and each has the most labels. Lengths are rounded up to some at which strided
/// layers drop no frames. This suffices because layers' needs grow with frames, with utterances,
/// with the longest utterance and with labels.
partition::MicroBatchLengths worst_case_lengths(const MicroBatchExtent& extent,
                                                const partition::LayerSequence& sequence);

/// The carrier of messages between devices: NCCL if this build has it, or NCCL in any case, as for
/// a cluster that is planned on another machine. The sizes of NCCL's buffers are known without
/// NCCL.
enum class DeviceMessages { as_built, nccl };

/// Computes bytes_of_run() for many runs of one layer sequence. They may differ in batch, stages,
/// replicas, schedule, recomputed layers and sharding of the optimizer. Common parts are computed
/// once. Thread-safe.
class RunBytes {
 public:
  /// `sequence` must outlive this and the values it returns. All runs have the types and the
  /// optimizer of `config`.
  RunBytes(const partition::LayerSequence& sequence, const configs::Config& config,
           DeviceMessages messages = DeviceMessages::as_built);

  [[nodiscard]] partition::ChunkBytes of(const configs::Config& config, const RunShape& shape,
                                         const partition::RunSchedule& schedule);

 private:
  const partition::MicroBatchLengths& covering(const MicroBatchExtent& extent);
  const partition::ParameterBytes& parameters(const configs::Config& config, int lanes);

  const partition::LayerSequence& sequence_;
  DeviceMessages messages_;
  std::shared_ptr<partition::SequenceBytes> known_;
  Cache<MicroBatchExtent, partition::MicroBatchLengths> covering_;
  /// Keyed by replicas, replicas that share the update, lanes, and the use of NCCL.
  Cache<std::tuple<int, int, int, bool>, partition::ParameterBytes> parameters_;
};

/// Returns the bytes that chunks need so that every step fits under `schedule`, and every
/// validation in turn with the steps, on the replica that needs most.
[[nodiscard]] partition::ChunkBytes bytes_of_run(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const partition::RunSchedule& schedule, DeviceMessages messages = DeviceMessages::as_built);
/// Returns the bytes under pipeline.schedule, which must be one that make_schedule() makes.
[[nodiscard]] partition::ChunkBytes bytes_of_run(const partition::LayerSequence& sequence,
                                                 const configs::Config& config,
                                                 const RunShape& shape);

}  // namespace penstock::runtime
