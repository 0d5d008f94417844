#include "partition/simulate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace penstock {
namespace {

class Clockwork {
 public:
  Clockwork(const Schedule& schedule, const Durations& durations)
      : schedule_(schedule),
        durations_(durations),
        next_(schedule.ranks.size(), 0),
        clock_(schedule.ranks.size(), 0) {
    result_.ranks.resize(schedule.ranks.size());
  }

  Simulation run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < next_.size(); ++rank) {
        while (!at_end(rank) && !at_step(rank) && act(rank)) {
          ++next_[rank];
          moved = true;
        }
      }
      moved = pass_barrier() || moved;
    }
    result_.makespan = *std::ranges::max_element(clock_) - first_start();
    return std::move(result_);
  }

 private:
  using Message = std::pair<Edge, int>;  // edge, micro-batch

  const Action& action(std::size_t rank) const { return schedule_.ranks[rank][next_[rank]]; }
  bool at_end(std::size_t rank) const { return next_[rank] == schedule_.ranks[rank].size(); }
  bool at_step(std::size_t rank) const {
    return !at_end(rank) && action(rank).kind == ActionKind::step;
  }

  /// False: the rank waits for a message whose times are not known yet.
  bool act(std::size_t rank) {
    const Action& now = action(rank);
    if (is_send(now.kind)) {
      sent_[{edge_of(now), now.micro_batch}] = clock_[rank];
      return true;
    }
    if (is_receive(now.kind)) {
      posted_[{edge_of(now), now.micro_batch}] = clock_[rank];
      return true;
    }
    const auto ready = arrival(now);
    if (!ready) return false;
    compute(rank, std::max(clock_[rank], *ready));
    return true;
  }

  void compute(std::size_t rank, double start) {
    const double end = start + durations_.compute(action(rank));
    result_.ranks[rank].push_back({action(rank), start, end});
    clock_[rank] = end;
  }

  /// When the message that a computation takes is there; 0 if it takes none.
  std::optional<double> arrival(const Action& now) const {
    Edge edge{now.chunk - 1, now.chunk, Edge::Kind::activation};
    if (now.kind == ActionKind::backward || now.kind == ActionKind::backward_input) {
      edge = {now.chunk + 1, now.chunk, Edge::Kind::gradient};
    } else if (now.kind != ActionKind::forward) {
      return 0;
    }
    if (!is_message(schedule_, edge)) return 0;
    const auto sent = sent_.find({edge, now.micro_batch});
    if (sent == sent_.end()) return std::nullopt;
    const double transfer = durations_.transfer ? durations_.transfer(edge, now.micro_batch) : 0;
    return std::max(sent->second, posted_.at({edge, now.micro_batch})) + transfer;
  }

  bool pass_barrier() {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (!at_step(rank)) return false;
    }
    const double start = *std::ranges::max_element(clock_);
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      compute(rank, start);
      ++next_[rank];
    }
    return true;
  }

  double first_start() const {
    std::optional<double> first;
    for (const auto& list : result_.ranks) {
      if (!list.empty()) first = std::min(first.value_or(list.front().start), list.front().start);
    }
    return first.value_or(0);
  }

  const Schedule& schedule_;
  const Durations& durations_;
  std::vector<std::size_t> next_;
  std::vector<double> clock_;
  std::map<Message, double> sent_, posted_;
  Simulation result_;
};

}  // namespace

Durations equal_micro_batches(std::vector<ChunkTimes> chunks) {
  return {.compute = [chunks = std::move(chunks)](const Action& action) {
    switch (action.kind) {
      case ActionKind::forward:
        return chunks[action.chunk].forward;
      case ActionKind::backward:
        return chunks[action.chunk].backward_input + chunks[action.chunk].backward_weight;
      case ActionKind::backward_input:
        return chunks[action.chunk].backward_input;
      case ActionKind::backward_weight:
        return chunks[action.chunk].backward_weight;
      default:
        return 0.0;
    }
  }};
}

Simulation simulate(const Schedule& schedule, const Durations& durations) {
  return Clockwork(schedule, durations).run();
}

double speedup_bound(const Schedule& schedule, const std::vector<ChunkTimes>& chunks) {
  double micro_batch = 0;
  for (const ChunkTimes& times : chunks) micro_batch += times.total();
  const Simulation pipelined = simulate(schedule, equal_micro_batches(chunks));
  return micro_batch * schedule.micro_batches / pipelined.makespan;
}

}  // namespace penstock
