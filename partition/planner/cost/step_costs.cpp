#include "partition/planner/cost/step_costs.h"

namespace penstock::partition {
namespace {

/// Returns, for each layer, the bytes of the message that would leave it: its output, and one FP32
/// loss weight for each utterance, which travels along to the loss.
std::vector<double> message_bytes(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                                  const MicroBatchLengths& lengths) {
  const auto weights = static_cast<double>(layers::aligned(lengths.frames.size() * sizeof(float)));
  std::vector<double> bytes;
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths.frames, sizes, lengths.labels))
    bytes.push_back(static_cast<double>(plan.output.bytes()) + weights);
  return bytes;
}

}  // namespace

// Lengths alone are the key: the cache belongs to one sequence and its sizes, which the caller
// keeps.
const std::vector<double>& MessageCache::of(const LayerSequence& sequence,
                                            const layers::BackendSizes& sizes,
                                            const MicroBatchLengths& lengths) {
  return known_.of(lengths, [&] { return message_bytes(sequence, sizes, lengths); });
}

StepCosts step_costs(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                     const CostModel& costs, std::span<const MicroBatchLengths> micro_batches) {
  StepCosts step;
  for (const MicroBatchLengths& lengths : micro_batches) {
    step.layers.push_back(costs(lengths));
    step.bytes.push_back(message_bytes(sequence, sizes, lengths));
  }
  return step;
}

}  // namespace penstock::partition
