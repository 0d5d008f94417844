#include "partition/layout/sequence_bytes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "partition/layout/saved_tensors.h"

// A planner asks for the memory of thousands of cuts, which consist of the same few ranges of
// layers. What a range needs is computed once:
//   - Parameters add up over layers, so prefix sums give those of any range by one subtraction.
//     That holds for replicas that share nothing. If they share the update, pieces depend on the
//     whole stage, and share() lays the stage out for each replica.
//   - Buffers depend on what lies at the range's ends and on what is recomputed, so they don't add
//     up. Each range is laid out for each micro-batch, and each kind of buffer takes its own
//     maximum, because the largest micro-batch need not be the same for all kinds.
// Caches are keyed by all that an answer depends on, and never forget.

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;

/// Returns the bytes of activation gradients in scratch. They alternate between two regions, for
/// even and odd places, each as large as its largest gradient.
std::ptrdiff_t gradients_in_scratch(const MicroBatchLayout& layout) {
  std::array<std::size_t, 2> max{};
  for (std::size_t i = 1; i < layout.gradient_places.size(); ++i)
    if (layout.gradient_places[i].region == Place::Region::scratch)
      max[i % 2] = std::max(max[i % 2], layers::aligned(layout.activations[i].bytes()));
  return static_cast<std::ptrdiff_t>(max[0] + max[1]);
}

}  // namespace

RangeSizes::RangeSizes(const MicroBatchLayout& layout, bool splits_backward)
    : slot(static_cast<std::ptrdiff_t>(layout.slot_bytes)),
      workspace(static_cast<std::ptrdiff_t>(layout.scratch_bytes - layout.workspace.offset)),
      gradients(gradients_in_scratch(layout)) {
  // With layers that have no backward, carried tensors are never in slots, whatever is chosen.
  if (layout.recomputed_runs.empty()) carried = static_cast<std::ptrdiff_t>(layout.carried_bytes);
  gradients_and_carried =
      splits_backward ? gradients : static_cast<std::ptrdiff_t>(layout.workspace.offset);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const layers::LayerPlan& plan = layout.layers[i];
    const bool kept = plan.runs_backward();
    own.push_back(kept ? static_cast<std::ptrdiff_t>(bytes_saved_by_forward(plan)) : 0);
    enters.push_back(static_cast<std::ptrdiff_t>(layers::aligned(layout.activations[i].bytes())));
    as_input.push_back(kept && keeps(plan, Kind::input));
    as_output.push_back(kept && keeps(plan, Kind::output));
  }
}

RangeBuffers::RangeBuffers(const LayerSequence& sequence,
                           const std::vector<MicroBatchLengths>& micro_batches,
                           const layers::BackendSizes& sizes)
    : layers_(sequence.size()),
      beam_(sequence.beam),
      on_device_(sizes.device != layers::DeviceKind::cpu) {
  for (const auto& [frames, labels] : micro_batches)
    planned_.push_back(
        plan_range(sequence.layers, sequence_input(sequence, frames, sizes, labels), sizes));
}

ChunkRole RangeBuffers::role(const LayerRun& range, bool splits_backward) const {
  return {.sends_input_gradient = range.first > 0,
          .sends_output = range.last < layers_,
          .splits_backward = splits_backward};
}

const BufferBytes& RangeBuffers::of(const LayerRun& range, bool training, bool splits_backward) {
  return known_.of({range.first, range.last, training, splits_backward},
                   [&] { return lay_out(range, training, splits_backward); });
}

BufferBytes RangeBuffers::lay_out(const LayerRun& range, bool training,
                                  bool splits_backward) const {
  if (training) return with_recomputation(range, role(range, splits_backward));
  BufferBytes max;
  for (const auto& planned : planned_)
    max.cover(lay_out_evaluation(planned, range, true, beam_), {});
  max.features = features_of(range);
  return max;
}

/// Returns the bytes of features of the largest micro-batch, or 0 if the range does not read them
/// onto a device.
std::size_t RangeBuffers::features_of(const LayerRun& range) const {
  std::size_t max = 0;
  if (on_device_ && range.first == 0)
    for (const auto& planned : planned_)
      max = std::max(max, features_bytes(planned->activations.front()));
  return max;
}

BufferBytes RangeBuffers::with_recomputation(const LayerRun& range, const ChunkRole& role) const {
  BufferBytes max;
  for (const auto& planned : planned_) max.cover(lay_out_training(planned, range, role), role);
  max.features = features_of(range);
  return max;
}

std::shared_ptr<const RangeSizes> RangeBuffers::sizes(const LayerRun& range, bool splits_backward) {
  return known_sizes_.of({range.first, range.last, splits_backward},
                         [&] { return max_kept(range, splits_backward); });
}

std::shared_ptr<const RangeSizes> RangeBuffers::max_kept(const LayerRun& range,
                                                         bool splits_backward) const {
  std::shared_ptr<const RangeSizes> max;
  for (const auto& planned : planned_) {
    const MicroBatchLayout layout = lay_out_training(planned, range, role(range, splits_backward));
    if (!max || static_cast<std::ptrdiff_t>(layout.slot_bytes) > max->slot)
      max = std::make_shared<const RangeSizes>(layout, splits_backward);
  }
  return max;
}

SequenceBytes::SequenceBytes(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                             ParameterKinds kinds)
    : sequence_(sequence),
      sizes_(sizes),
      plans_(plan_without_frames(sequence, sizes)),
      norm_bytes_(gradient_norm_bytes(norm_blocks(plans_))),
      sums_(1) {
  kinds.sharing = {};
  for (const layers::LayerPlan& plan : plans_) {
    const std::vector<layers::LayerPlan> alone{plan};
    sums_.push_back(sums_.back());
    sums_.back().add(sums_of(alone, lay_out_parameters(alone, kinds, 0)));
  }
}

const SequenceBytes::Shared& SequenceBytes::shared(const std::vector<LayerRun>& held,
                                                   const ParameterBytes& parameters) {
  const Kept kept{parameters.lanes_of,          parameters.kinds.sharing.bucket_bytes,
                  parameters.slots.of_elements, parameters.slots.of_parameters,
                  parameters.slots.averages,    parameters.rollback};
  Ranges ranges;
  for (const LayerRun& run : held) ranges.emplace_back(run.first, run.last);
  return shared_.of({kept, ranges}, [&] { return share(ranges, parameters); });
}

SequenceBytes::Shared SequenceBytes::share(const Ranges& held,
                                           const ParameterBytes& parameters) const {
  const std::span all(plans_);
  std::vector<layers::LayerPlan> joined;  // used if several ranges are held
  for (const auto& [first, last] : held)
    if (held.size() > 1) joined.insert(joined.end(), plans_.begin() + first, plans_.begin() + last);
  const auto [first, last] = held.front();
  const std::span<const layers::LayerPlan> plans =
      held.size() > 1
          ? std::span<const layers::LayerPlan>(joined)
          : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  Shared shared{.of_replicas = bytes_of_sharers(plans, parameters)};
  for (int replica = 0; replica < std::ssize(shared.of_replicas); ++replica)
    if (shared.of_replicas[replica].total() > shared.of_replicas[shared.fullest].total())
      shared.fullest = replica;
  return shared;
}

std::shared_ptr<RangeBuffers> SequenceBytes::buffers(
    const std::vector<MicroBatchLengths>& micro_batches) {
  return known_.of(micro_batches, [&] {
    return std::make_shared<RangeBuffers>(sequence_, micro_batches, sizes_);
  });
}

}  // namespace penstock::partition
