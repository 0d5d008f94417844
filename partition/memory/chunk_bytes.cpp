#include "partition/memory/chunk_bytes.h"

#include <algorithm>
#include <array>

namespace penstock::partition {

ChunkBytes::ChunkBytes(const LayerSequence& sequence, const std::vector<ChunkLoad>& loads,
                       const layers::BackendSizes& sizes, const ParameterBytes& parameters,
                       std::size_t edge, std::size_t all)
    : sequence_(sequence),
      sizes_(sizes),
      parameters_(parameters),
      edge_(edge),
      all_(all),
      plans_(plan_without_frames(sequence, sizes)) {
  for (const auto& [micro_batches, schedule, recomputes] : loads) {
    Load& load = loads_.emplace_back();
    load.training = !schedule.forward_only;
    load.splits_backward = splits_backward(schedule);
    load.recomputes = recomputes;
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      load.in_flight.push_back(count_in_flight(schedule, chunk));
    for (const auto& lengths : micro_batches) {
      auto& inputs = load.inputs.emplace_back();
      inputs.push_back(sequence_input(sequence, lengths, sizes));
      for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, sizes))
        inputs.push_back(plan.output);
    }
  }
}

ChunkRole ChunkBytes::role(const Load& load, int first, int last) const {
  return {.sends_input_gradient = first > 0,
          .sends_output = last < sequence_.size(),
          .splits_backward = load.splits_backward,
          .recomputes = chosen_among(load.recomputes, first, last)};
}

const BufferBytes& ChunkBytes::largest(std::size_t load, int first, int last) const {
  const auto [at, fresh] = known_.try_emplace({load, first, last});
  if (!fresh) return at->second;
  const ChunkRole role = this->role(loads_[load], first, last);
  const auto layers = LayerRange(sequence_.layers).subspan(first, last - first);
  for (const auto& inputs : loads_[load].inputs) {
    if (loads_[load].training) {
      at->second.cover(lay_out_training(layers, inputs[first], sizes_, role), role);
    } else {
      at->second.cover(lay_out_evaluation(layers, inputs[first], sizes_, true), {});
    }
  }
  return at->second;
}

ChunkBuffers ChunkBytes::buffers(int first, int last, int chunk) const {
  ChunkBuffers buffers;
  for (std::size_t load = 0; load < loads_.size(); ++load)
    buffers.cover(largest(load, first, last), loads_[load].in_flight[chunk]);
  return buffers;
}

ChunkBytes ChunkBytes::holding(const InFlight& in_flight) const {
  ChunkBytes other = *this;
  for (Load& load : other.loads_)
    if (load.training) std::ranges::fill(load.in_flight, in_flight);
  return other;
}

ChunkBytes::Training ChunkBytes::training(int first, int last, int chunk) const {
  Training training;
  const auto layers = LayerRange(sequence_.layers).subspan(first, last - first);
  for (std::size_t load = 0; load < loads_.size(); ++load) {
    const Load& one = loads_[load];
    if (!one.training) {
      training.evaluation.cover(largest(load, first, last), one.in_flight[chunk]);
      continue;
    }
    ChunkRole keeping = role(one, first, last);
    keeping.recomputes.clear();
    for (const auto& inputs : one.inputs)
      training.layouts.push_back(lay_out_training(layers, inputs[first], sizes_, keeping));
    training.count = one.in_flight[chunk];
    training.splits_backward = one.splits_backward;
  }
  return training;
}

StageBytes ChunkBytes::of_replica(std::span<const ChunkRange> held, int replica) const {
  std::vector<layers::LayerPlan> plans;
  ChunkBuffers all_buffers;
  int edges = 0;
  int behind = 0;  // the layer behind the chunk before, if that is held too
  for (const auto& [first, last, chunk] : held) {
    plans.insert(plans.end(), plans_.begin() + first, plans_.begin() + last);
    all_buffers.join(buffers(first, last, chunk));
    // Where the chunk before ends, its edge was counted, and is none: both are held here.
    if (first > 0) edges += first == behind ? -1 : 1;
    if (last < sequence_.size()) ++edges;
    behind = last;
  }
  StageBytes bytes = stage_bytes(plans, all_buffers, parameters_, replica);
  bytes.optimizer += gradient_norm_bytes(norm_blocks(plans_));
  bytes.scratch += layers::stream_workspace(sizes_);
  bytes.messages += all_ + edge_ * static_cast<std::size_t>(edges);
  return bytes;
}

/// Replicas that share nothing need less the later they come: the first have most lanes.
StageBytes ChunkBytes::operator()(std::span<const ChunkRange> held) const {
  StageBytes most = of_replica(held, 0);
  for (int replica = 1; replica < parameters_.kinds.sharing.replicas; ++replica) {
    const StageBytes bytes = of_replica(held, replica);
    if (bytes.total() > most.total()) most = bytes;
  }
  return most;
}

StageBytes ChunkBytes::of_replica(int first, int last, int chunk, int replica) const {
  const std::array one{ChunkRange{first, last, chunk}};
  return of_replica(one, replica);
}

StageBytes ChunkBytes::operator()(int first, int last, int chunk) const {
  const std::array one{ChunkRange{first, last, chunk}};
  return (*this)(one);
}

}  // namespace penstock::partition
