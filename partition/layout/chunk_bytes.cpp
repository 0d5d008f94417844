#include "partition/layout/chunk_bytes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock::partition {

// A rank's memory is that of its parameters plus, for each chunk, the size of a buffer times the
// number of buffers in flight. The size follows from the range of layers and the largest
// micro-batch, and is cached per range. The number follows from the schedule's lists (in_flight.h).
// All chunks of a rank share one scratch buffer, which counts once.

ChunkBytes::ChunkBytes(const LayerSequence& sequence, const std::vector<ChunkLoad>& loads,
                       const layers::BackendSizes& sizes, const ParameterBytes& parameters,
                       std::size_t edge, std::size_t all)
    : ChunkBytes(std::make_shared<SequenceBytes>(sequence, sizes, parameters.kinds), loads,
                 parameters, edge, all) {}

ChunkBytes::ChunkBytes(std::shared_ptr<SequenceBytes> sequence, const std::vector<ChunkLoad>& loads,
                       const ParameterBytes& parameters, std::size_t edge, std::size_t all)
    : sequence_(std::move(sequence)), parameters_(parameters), edge_(edge), all_(all) {
  for (const auto& [micro_batches, schedule, recomputes] : loads) {
    Load& load = loads_.emplace_back();
    load.training = !schedule.forward_only;
    load.splits_backward = splits_backward(schedule);
    if (std::ranges::count(recomputes, true) > 0) load.recomputes = recomputes;
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      load.in_flight.push_back(count_in_flight(schedule, chunk));
    load.buffers = sequence_->buffers(micro_batches);
  }
}

const BufferBytes& ChunkBytes::largest(const Load& load, const LayerRun& range) const {
  if (load.recomputes.empty()) return load.buffers->of(range, load.training, load.splits_backward);
  const auto [at, fresh] = load.known.try_emplace({range.first, range.last});
  if (fresh)
    at->second = load.buffers->with_recomputation(
        range, {.sends_input_gradient = range.first > 0,
                .sends_output = range.last < sequence_->layers(),
                .splits_backward = load.splits_backward,
                .recomputes = chosen_among(load.recomputes, range.first, range.last)});
  return at->second;
}

ChunkBuffers ChunkBytes::buffers(int first, int last, int chunk) const {
  ChunkBuffers buffers;
  for (const Load& load : loads_)
    buffers.cover(largest(load, {first, last}), load.in_flight[chunk]);
  return buffers;
}

double ChunkBytes::kept(int first, int last, int chunk) const {
  return static_cast<double>(holding({.host = 1}).buffers(first, last, chunk).host);
}

ChunkBytes ChunkBytes::holding(const InFlight& in_flight) const {
  ChunkBytes other = *this;
  for (Load& load : other.loads_)
    if (load.training) std::ranges::fill(load.in_flight, in_flight);
  return other;
}

ChunkBytes::Training ChunkBytes::training(int first, int last, int chunk) const {
  Training training;
  for (const Load& load : loads_) {
    if (!load.training) {
      training.evaluation.cover(largest(load, {first, last}), load.in_flight[chunk]);
      continue;
    }
    auto sizes = load.buffers->sizes({first, last}, load.splits_backward);
    if (!training.sizes || sizes->slot > training.sizes->slot) training.sizes = std::move(sizes);
    training.count = load.in_flight[chunk];
    training.splits_backward = load.splits_backward;
  }
  return training;
}

StageBytes ChunkBytes::without_messages(std::span<const ChunkRange> held,
                                        const ChunkBuffers& all_buffers, int replica) const {
  if (parameters_.kinds.sharing.replicas == 1) {
    ParameterSums sums;
    for (const ChunkRange& range : held) sums.add(sequence_->sums({range.first, range.last}));
    return stage_bytes(sums, all_buffers, parameters_, replica);
  }
  StageBytes bytes = shared(held).of_replicas.at(static_cast<std::size_t>(replica));
  add_buffers(all_buffers, bytes);
  return bytes;
}

const SequenceBytes::Shared& ChunkBytes::shared(std::span<const ChunkRange> held) const {
  std::vector<LayerRun> ranges;
  for (const ChunkRange& range : held) ranges.push_back({range.first, range.last});
  return sequence_->shared(ranges, parameters_);
}

double ChunkBytes::at_least(int first, int last) const {
  return parameters_.at_least(sequence_->sums({first, last}));
}

StageBytes ChunkBytes::of_replica(std::span<const ChunkRange> held, int replica) const {
  ChunkBuffers all_buffers;
  int edges = 0;
  int previous_end = 0;  // end of the preceding held chunk
  for (const auto& [first, last, chunk] : held) {
    all_buffers.join(buffers(first, last, chunk));
    // If the preceding chunk ends here, its edge was counted; it is none, as this rank holds both.
    if (first > 0) edges += first == previous_end ? -1 : 1;
    if (last < sequence_->layers()) ++edges;
    previous_end = last;
  }
  StageBytes bytes = without_messages(held, all_buffers, replica);
  bytes.optimizer += sequence_->norm_bytes();
  bytes.scratch += layers::stream_workspace(sequence_->sizes());
  bytes.messages += all_ + edge_ * static_cast<std::size_t>(edges);
  return bytes;
}

/// Replicas that share nothing differ only in their number of lanes, which is largest on replica 0.
/// So replica 0 needs the most memory.
StageBytes ChunkBytes::operator()(std::span<const ChunkRange> held) const {
  return of_replica(held, parameters_.kinds.sharing.replicas == 1 ? 0 : shared(held).fullest);
}

StageBytes ChunkBytes::of_replica(int first, int last, int chunk, int replica) const {
  const std::array one{ChunkRange{first, last, chunk}};
  return of_replica(one, replica);
}

StageBytes ChunkBytes::operator()(int first, int last, int chunk) const {
  const std::array one{ChunkRange{first, last, chunk}};
  return (*this)(one);
}

/// Replicas that share the update are laid out one by one, which takes time. First a lower bound is
/// tried, from the buffers and the mean share of the parameters.
bool ChunkBytes::fits(int first, int last, int chunk, double limit) const {
  if (parameters_.kinds.sharing.replicas > 1) {
    // A mean of whole bytes is rounded.
    constexpr double kRounding = 1 + 1e-12;
    StageBytes at_least;
    add_buffers(buffers(first, last, chunk), at_least);
    if (this->at_least(first, last) + static_cast<double>(at_least.total()) > limit * kRounding)
      return false;
  }
  return static_cast<double>((*this)(first, last, chunk).total()) <= limit;
}

}  // namespace penstock::partition
