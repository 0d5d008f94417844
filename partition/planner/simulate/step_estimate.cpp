#include "partition/planner/simulate/step_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/quantities.h"

namespace penstock::partition {
namespace {

/// Throws std::invalid_argument unless `holds`.
void expect(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("a step can't be predicted: " + what);
}

}  // namespace

// Durations refer to this object, so it can't be copied. A reduction or copy whose seconds the
// layout does not give takes no time.
StepEstimate::StepEstimate(const StepCosts& costs, StepLayout layout) : layout_(std::move(layout)) {
  check(costs);
  add_times(costs);
  durations_.compute = [this](const Action& action) {
    if (action.kind == ActionKind::reduce && !layout_.reduce_seconds.empty())
      return layout_.reduce_seconds[action.chunk];
    const bool copies = action.kind == ActionKind::offload || action.kind == ActionKind::reload;
    if (copies && !layout_.copy_seconds.empty())
      return layout_.copy_seconds[action.chunk][action.micro_batch];
    if (!computes(action.kind)) return 0.0;
    return times_[action.chunk][action.micro_batch].of(action.kind);
  };
  if (!layout_.step_seconds.empty())
    durations_.step = [this](int rank) { return layout_.step_seconds[rank]; };
  if (layout_.link) add_network(costs);
}

// All sizes are checked once, so the functions that run for every action need no check.
void StepEstimate::check(const StepCosts& costs) const {
  const Schedule& schedule = layout_.schedule;
  const std::size_t ranks = schedule.ranks.size(), chunks = schedule.chunk_rank.size();
  const auto micro_batches = static_cast<std::size_t>(schedule.micro_batches);
  const auto& begin = layout_.begin;
  expect(begin.size() == chunks + 1 && std::ranges::is_sorted(begin) && begin.front() == 0,
         fmt::format("the schedule's {} need rising first layers from 0, and the number of layers",
                     counted(chunks, "chunk")));
  expect(costs.layers.size() == micro_batches,
         fmt::format("found costs of {}, but the schedule has {}",
                     counted(costs.layers.size(), "micro-batch", "micro-batches"), micro_batches));
  const auto layers = static_cast<std::size_t>(begin.back());
  const auto whole = [&](const auto& row) { return row.size() == layers; };
  expect(std::ranges::all_of(costs.layers, whole),
         fmt::format("every micro-batch needs a cost of each of {} layers", layers));
  expect(costs.bytes.empty()
             ? !layout_.link
             : costs.bytes.size() == micro_batches && std::ranges::all_of(costs.bytes, whole),
         "links need the bytes that leave each layer, of every micro-batch");
  const auto empty_or = [](const auto& list, std::size_t size) {
    return list.empty() || list.size() == size;
  };
  expect(empty_or(costs.reading, micro_batches), "reading needs a number for each micro-batch");
  expect(empty_or(layout_.speeds, ranks) && empty_or(layout_.step_seconds, ranks),
         fmt::format("speeds and seconds of the step need a number for each of {} ranks", ranks));
  expect(layout_.recomputed.empty() || layout_.recomputed.size() == layers,
         fmt::format("recomputation needs a choice for each of {} layers", layers));
  expect(empty_or(layout_.reduce_seconds, chunks), "reductions need a number for each chunk");
  const auto of_all = [&](const auto& row) { return row.size() == micro_batches; };
  expect(
      empty_or(layout_.copy_seconds, chunks) && std::ranges::all_of(layout_.copy_seconds, of_all),
      "copies need a number for each chunk and micro-batch");
}

double StepEstimate::speed_of(int chunk) const {
  return layout_.speeds.empty() ? 1 : layout_.speeds[layout_.schedule.chunk_rank[chunk]];
}

/// Sums the layers' costs for each chunk, at the speed of its device. Reading counts to the first
/// chunk's forward.
void StepEstimate::add_times(const StepCosts& costs) {
  times_.resize(layout_.schedule.chunks());
  for (std::size_t m = 0; m < costs.layers.size(); ++m) {
    std::vector<ChunkTimes> chunks =
        chunk_times(layout_.begin, costs.layers[m], layout_.recomputed);
    if (!costs.reading.empty()) chunks.front().forward += costs.reading[m];
    for (int c = 0; c < layout_.schedule.chunks(); ++c) {
      const double speed = speed_of(c);
      times_[c].push_back({chunks[c].forward / speed, chunks[c].backward_input / speed,
                           chunks[c].backward_weight / speed});
    }
  }
}

/// Adds a separate link for each direction between ranks that exchange messages.
void StepEstimate::add_network(const StepCosts& costs) {
  const std::vector<int>& held_by = layout_.schedule.chunk_rank;
  const int ranks = static_cast<int>(layout_.schedule.ranks.size());
  // Links are numbered from * ranks + to. Pairs without messages keep a bandwidth of 1, which
  // nothing uses.
  network_.links.assign(static_cast<std::size_t>(ranks) * ranks, {0, 1});
  const auto add = [&](int from, int to) {
    const LinkRates rates = layout_.link(from, to);
    network_.links[from * ranks + to] = {rates.latency, rates.bandwidth};
  };
  for (std::size_t c = 0; c + 1 < held_by.size(); ++c) {
    if (held_by[c] == held_by[c + 1]) continue;
    add(held_by[c], held_by[c + 1]);
    add(held_by[c + 1], held_by[c]);
  }
  // A gradient has the bytes of the activation between the same two chunks, so an edge's bytes are
  // stored under its lower chunk.
  for (int c = 0; c + 1 < layout_.schedule.chunks(); ++c) {
    auto& bytes = edge_bytes_.emplace_back();
    for (const auto& of_layers : costs.bytes) bytes.push_back(of_layers[layout_.begin[c + 1] - 1]);
  }
  network_.route = [ranks](int from, int to) { return std::vector<int>{from * ranks + to}; };
  network_.bytes = [this](const Edge& edge, int micro_batch) {
    return edge_bytes_[std::min(edge.producer, edge.consumer)][micro_batch];
  };
  network_.overlap = layout_.overlap;
  durations_.network = &network_;
}

Simulation StepEstimate::simulation(Barrier barrier) const {
  return simulate(layout_.schedule, durations_, barrier);
}

double StepEstimate::period(Barrier barrier) const {
  return step_period(layout_.schedule, durations_, barrier);
}

std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed) {
  std::vector<ChunkTimes> times(begin.size() - 1);
  for (std::size_t i = 0; i < times.size(); ++i)
    for (int layer = begin[i]; layer < begin[i + 1]; ++layer) {
      times[i].forward += costs[layer].forward;
      times[i].backward_input += costs[layer].backward_input;
      times[i].backward_weight += costs[layer].backward_weight;
      // The activations are computed again just before the input gradient, and the weight gradient
      // reads them too.
      if (!recomputed.empty() && recomputed[layer])
        times[i].backward_input += costs[layer].recomputed();
    }
  return times;
}

// Kept activations grow with frames as the output does, so the output's bytes give the share of a
// smaller micro-batch. Without any output bytes all are taken as equal.
std::vector<std::vector<double>> copy_seconds(const StepCosts& costs, const std::vector<int>& begin,
                                              const ChunkCopies& copies) {
  std::vector<std::vector<double>> seconds;
  for (std::size_t chunk = 0; chunk < copies.bytes.size(); ++chunk) {
    const auto last = static_cast<std::size_t>(begin[chunk + 1] - 1);
    std::vector<double>& of_chunk = seconds.emplace_back();
    double max = 0;
    for (const auto& of_layers : costs.bytes) max = std::max(max, of_layers[last]);
    for (const auto& of_layers : costs.bytes) {
      const double share = max > 0 ? of_layers[last] / max : 1;
      of_chunk.push_back(share * copies.bytes[chunk] / copies.bandwidth[chunk]);
    }
  }
  return seconds;
}

}  // namespace penstock::partition
