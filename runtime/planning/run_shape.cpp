#include "runtime/planning/run_shape.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "partition/layout/layer_sequence.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/planner.h"
#include "partition/schedule/generators.h"
#include "runtime/data/batch/batching.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/gradient_buckets.h"
#include "runtime/pipeline/gradient_norm_sync.h"
#include "runtime/pipeline/nccl_reduction.h"
#include "runtime/pipeline/session.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kForCosts = 8;    // micro-batches that represent the costs
constexpr std::int64_t kForSizes = 16;  // steps that are sampled for by_size

std::vector<std::vector<std::int64_t>> lengths_of(const std::vector<MicroBatch>& batches) {
  std::vector<std::vector<std::int64_t>> lengths;
  for (const MicroBatch& batch : batches) {
    auto& of_batch = lengths.emplace_back();
    for (const BatchUtterance& u : batch.utterances) of_batch.push_back(u.frames);
  }
  return lengths;
}

/// Computes RunShape::labels_per_frame.
double labels_per_frame(const std::vector<MicroBatch>& batches, const StepSequenceOptions& corpus) {
  double samples = 0, frames = 0;
  for (const MicroBatch& batch : batches)
    for (const BatchUtterance& u : batch.utterances) {
      samples += static_cast<double>(u.samples);
      frames += static_cast<double>(u.frames);
    }
  if (frames == 0) return 0;
  return corpus.labels_per_second * samples / corpus.features.sample_rate / frames;
}

/// Computes RunShape::by_size from evenly spaced steps. The last step, which may be short, is used
/// only if it is the only one.
std::vector<std::vector<std::vector<std::int64_t>>> micro_batches_by_size(
    const StepSequence& steps) {
  const EpochStart& start = steps.options().start;
  const std::int64_t whole = std::max<std::int64_t>(1, steps.steps_in_epoch(start.epoch) - 1);
  const std::int64_t sampled = std::min(kForSizes, whole);
  std::vector<std::vector<std::vector<std::int64_t>>> sizes;
  for (std::int64_t i = 0; i < sampled; ++i) {
    std::vector<MicroBatch> batches =
        steps.at(start.step + (2 * i + 1) * whole / (2 * sampled)).micro_batches;
    std::ranges::stable_sort(batches, std::greater{}, &MicroBatch::frames);
    const auto lengths = lengths_of(batches);
    sizes.resize(std::max(sizes.size(), lengths.size()));
    for (std::size_t size = 0; size < lengths.size(); ++size) sizes[size].push_back(lengths[size]);
  }
  return sizes;
}

/// Finds "full" lengths: those at which one frame fewer at the input is one frame fewer at the
/// loss. At lengths between two of them, strided layers drop frames. If the model cuts utterances
/// into chunks, they are the lengths of one frame more than full chunks: no others leave more
/// frames for their own.
class FullLengths {
 public:
  explicit FullLengths(const partition::LayerSequence& sequence)
      : out_(sequence),
        min_(partition::min_frames(sequence)),
        chunk_(partition::plan_without_frames(sequence, {}).front().chunk),
        apart_(apart_at(partition::accepted_frames(sequence, kAny + min_))) {}

  std::int64_t at_least(std::int64_t frames) const {
    if (frames <= min_) return min_;
    if (chunk_ > 0) return (frames + chunk_ - 2) / chunk_ * chunk_ + 1;
    const std::int64_t before = out(frames - 1);
    if (out(frames) > before) return frames;
    std::int64_t step = 1;
    while (is(before, frames + step)) step *= 2;
    std::int64_t same = frames + step / 2, more = frames + step;  // input frames
    while (more - same > 1) {
      const std::int64_t middle = (same + more) / 2;
      if (is(before, middle))
        same = middle;
      else
        more = middle;
    }
    return takes(more) ? more : same;  // no utterance is longer than what the model takes
  }
  std::int64_t apart() const { return apart_; }

 private:
  static constexpr std::int64_t kAny = 1000;  // any number above the fewest

  std::int64_t apart_at(std::int64_t frames) const {
    const std::int64_t full = at_least(frames);
    return takes(full + 1) ? at_least(full + 1) - full : 1;
  }
  std::int64_t out(std::int64_t frames) const { return out_.of(frames); }
  bool takes(std::int64_t frames) const try {
    (void)out(frames);
    return true;
  } catch (const ShapeError&) {
    return false;
  }
  bool is(std::int64_t rows, std::int64_t frames) const {
    return takes(frames) && out(frames) == rows;
  }

  mutable partition::OutputFrames out_;
  std::int64_t min_, chunk_, apart_;
};

/// Returns `count` nearly equal full lengths, of at most `longest`, that leave at least as many
/// frames at the loss as any that sum to `frames`.
std::vector<std::int64_t> even_lengths(const FullLengths& full, std::int64_t frames,
                                       std::int64_t count, std::int64_t longest) {
  if (count < 1) return {};
  const std::int64_t base = full.at_least(frames / count - full.apart() + 1);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), base);
  std::int64_t lacking = frames - base * count;
  for (auto length = lengths.begin(); lacking > 0; ++length, lacking -= full.apart())
    *length = std::min(*length + full.apart(), longest);
  return lengths;
}

bool has_nccl(DeviceMessages messages) {
  return messages == DeviceMessages::nccl || comm::nccl_is_built();
}

/// True if NCCL may carry the devices' messages. It is certain only when the ranks have connected.
bool over_nccl(const configs::Config& config, DeviceMessages messages) {
  return device_kind(config.trainer) == layers::DeviceKind::cuda && has_nccl(messages) &&
         config.pipeline.stages * config.pipeline.replicas > 1;
}

partition::ParameterKinds kinds_of(const configs::Config& config) {
  return {.compute = backend_sizes(config).compute,
          .sharing = sharing_of(config.pipeline),
          .slots = slot_format(config.optimizer)};
}

partition::ParameterBytes parameters_of(const configs::Config& config, int lanes,
                                        DeviceMessages messages) {
  const std::vector<int> lanes_of = partition::deal_lanes(lanes, config.pipeline.replicas);
  partition::ParameterBytes parameters;
  parameters.lanes_of = lanes_of;
  parameters.slots = training_slots(config).counts();
  parameters.kinds = kinds_of(config);
  if (lanes_of.size() == 1) return parameters;  // there are no gradients to reduce
  const bool on_device = backend_sizes(config).device != layers::DeviceKind::cpu;
  if (on_device && !has_nccl(messages)) return parameters;  // replicas reduce in the host's memory
  const bool library = config.pipeline.reduction == "nccl" && over_nccl(config, messages);
  parameters.reduction =
      [=, bucket = bucket_bytes(config.pipeline)](const partition::ParameterLayout& layout) {
        const comm::LaneReductionPlan plan = gradient_buckets(layout, lanes_of, bucket);
        std::vector<std::size_t> of_replicas;
        for (int replica = 0; replica < std::ssize(lanes_of); ++replica) {
          if (!on_device) {
            of_replicas.push_back(comm::staging_bytes(plan, replica));
            continue;
          }
          const auto peers = static_cast<int>(comm::tree_peers(lanes_of, replica).size());
          of_replicas.push_back((library ? 0 : nccl_staging_bytes(plan, replica)) +
                                comm::nccl_memory(2 * peers + (library ? comm::kNcclSumWays : 0)));
        }
        return of_replicas;
      };
  return parameters;
}

using Reduction = std::function<std::vector<std::size_t>(const partition::ParameterLayout&)>;

/// Caches a reduction by the arena's size, for replicas that share nothing. Their bytes depend on
/// the arena alone.
Reduction cached(Reduction reduction) {
  using OfArena = Cache<std::size_t, std::vector<std::size_t>>;
  return [reduction = std::move(reduction),
          known = std::make_shared<OfArena>()](const partition::ParameterLayout& layout) {
    return known->of(layout.arena, [&] { return reduction(layout); });
  };
}

}  // namespace

partition::MicroBatchLengths usual_lengths(const RunShape& shape,
                                           const std::vector<std::int64_t>& frames) {
  partition::MicroBatchLengths lengths{frames};
  if (shape.labels_per_frame == 0) return lengths;
  for (const std::int64_t of_utterance : frames) {
    const double labels = std::round(shape.labels_per_frame * static_cast<double>(of_utterance));
    lengths.labels.push_back(
        std::min(static_cast<std::int64_t>(labels), shape.training.micro_batch.labels));
  }
  return lengths;
}

partition::MicroBatchLengths middling_lengths(const RunShape& shape) {
  return usual_lengths(shape, shape.micro_batches.at(shape.micro_batches.size() / 2));
}

RunShape shape_of_run(const configs::Config& config, const StepSequence& steps,
                      const PlannedValidation& validation, int labels) {
  const std::vector<MicroBatch> longest = steps.longest(kForCosts);
  RunShape shape{lengths_of(longest), labels};
  shape.labels_per_frame = labels_per_frame(longest, steps.options());
  // With trainer.scaling, a run may have more steps than trainer.steps.
  shape.training = config.trainer.scaling == "none" ? extent_of(steps, config.trainer.steps)
                                                    : greatest_extent(steps.options());
  shape.by_size = micro_batches_by_size(steps);
  if (!validation.lengths.empty() && config.trainer.validate_every >= 0)
    shape.validation =
        extent_of(evaluation_batches(validation.lengths, config.data, config.features),
                  validation.most_labels);
  return shape;
}

RunShape shape_of_recognition(const configs::Config& config, const Lengths& lengths, int labels) {
  return {lengths_of(evaluation_batches(lengths, config.data, config.features)), labels};
}

/// One utterance is as long as the longest. The others share the remaining frames as evenly as full
/// lengths allow.
partition::MicroBatchLengths worst_case_lengths(const MicroBatchExtent& extent,
                                                const partition::LayerSequence& sequence) {
  const FullLengths full(sequence);
  const std::int64_t longest = full.at_least(extent.longest), others = extent.utterances - 1;
  auto lengths = even_lengths(full, std::max(extent.frames - longest, others), others, longest);
  lengths.push_back(others > 0 ? longest : full.at_least(extent.frames));
  const std::vector<std::int64_t> labels(lengths.size(), extent.labels);
  return {std::move(lengths), labels};
}

RunBytes::RunBytes(const partition::LayerSequence& sequence, const configs::Config& config,
                   DeviceMessages messages)
    : sequence_(sequence),
      messages_(messages),
      known_(std::make_shared<partition::SequenceBytes>(sequence, backend_sizes(config),
                                                        kinds_of(config))) {}

const partition::MicroBatchLengths& RunBytes::covering(const MicroBatchExtent& extent) {
  return covering_.of(extent, [&] { return worst_case_lengths(extent, sequence_); });
}

const partition::ParameterBytes& RunBytes::parameters(const configs::Config& config, int lanes) {
  return parameters_.of({config.pipeline.replicas, sharing_of(config.pipeline).replicas, lanes,
                         over_nccl(config, messages_)},
                        [&] {
                          auto parameters = parameters_of(config, lanes, messages_);
                          if (parameters.reduction && parameters.kinds.sharing.replicas == 1)
                            parameters.reduction = cached(std::move(parameters.reduction));
                          return parameters;
                        });
}

partition::ChunkBytes RunBytes::of(const configs::Config& config, const RunShape& shape,
                                   const partition::RunSchedule& schedule) {
  const int replicas = config.pipeline.replicas;
  const int lanes = config.trainer.lanes == 0 ? replicas : config.trainer.lanes;
  std::vector<partition::ChunkLoad> loads;
  if (shape.training.micro_batches > 0)
    loads.push_back({{covering(shape.training.micro_batch)},
                     schedule.resident(config.pipeline.resident)
                         .of(partition::micro_batches_per_replica(shape.training.micro_batches,
                                                                  lanes, replicas)),
                     partition::recomputed_layers(config.pipeline, sequence_)});
  if (shape.validation.micro_batches > 0) {
    loads.push_back(
        {{covering(shape.validation.micro_batch)},
         partition::forward_only(schedule.chunk_ranks(),
                                 (shape.validation.micro_batches + replicas - 1) / replicas)});
  }
  const bool trains = shape.training.micro_batches > 0;
  partition::ParameterBytes parameters = this->parameters(config, lanes);
  if (!trains) parameters.slots = {.of_elements = 0};
  parameters.rollback =
      trains && config.pipeline.post_validation && config.pipeline.stages * replicas > 1;
  return partition::ChunkBytes(
      known_, loads, parameters,
      over_nccl(config, messages_) ? 2 * comm::nccl_memory(1) : 0,  // activations, gradients
      over_nccl(config, messages_) && trains ? comm::nccl_memory(comm::kNcclSumWays, kNormChannels)
                                             : 0);
}

partition::ChunkBytes bytes_of_run(const partition::LayerSequence& sequence,
                                   const configs::Config& config, const RunShape& shape) {
  return bytes_of_run(sequence, config, shape,
                      partition::RunSchedule(config.pipeline.schedule, config.pipeline.stages));
}

partition::ChunkBytes bytes_of_run(const partition::LayerSequence& sequence,
                                   const configs::Config& config, const RunShape& shape,
                                   const partition::RunSchedule& schedule,
                                   DeviceMessages messages) {
  return RunBytes(sequence, config, messages).of(config, shape, schedule);
}

}  // namespace penstock::runtime
