#include "partition/chunk_bytes.h"

namespace penstock {

ChunkBytes::ChunkBytes(const Chain& chain,
                       const std::vector<std::vector<std::int64_t>>& micro_batches,
                       const BackendSizes& sizes, const Schedule& schedule,
                       const ParameterBytes& parameters)
    : chain_(chain), sizes_(sizes), parameters_(parameters) {
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
    in_flight_.push_back(count_in_flight(schedule, chunk));
  }
  for (const auto& lengths : micro_batches) {
    std::vector<LayerPlan> plans = plan_chain(chain, lengths, sizes);
    auto& inputs = inputs_.emplace_back();
    inputs.push_back(chain_input(chain, lengths, sizes));
    for (const LayerPlan& plan : plans) inputs.push_back(plan.output);
    if (plans_.empty()) plans_ = std::move(plans);
  }
}

BufferBytes ChunkBytes::buffers(int first, int last) const {
  const auto [at, fresh] = known_.try_emplace({first, last});
  if (!fresh) return at->second;
  const StageEnds ends{.sends_input_gradient = first > 0, .sends_output = last < chain_.size()};
  const auto layers = LayerRange(chain_.layers).subspan(first, last - first);
  for (const auto& inputs : inputs_) {
    at->second.cover(lay_out_training(layers, inputs[first], sizes_, ends), ends);
  }
  return at->second;
}

StageBytes ChunkBytes::operator()(int first, int last, int chunk) const {
  const std::vector<LayerPlan> plans(plans_.begin() + first, plans_.begin() + last);
  return stage_bytes(plans, buffers(first, last), in_flight_[chunk], parameters_);
}

}  // namespace penstock
