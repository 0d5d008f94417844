#include "partition/schedule/validator/validator.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "partition/schedule/validator/proofs.h"

namespace penstock::partition {
namespace {

/// Run executes the lists without computing. An action ends as soon as the actions of other ranks
/// that it awaits have begun. A rank that moves never makes another rank wait longer. So the result
/// does not depend on the order in which ranks move, and one run proves that lists cannot hang.
class Run {
 public:
  Run(const Schedule& schedule, const std::map<Edge, MessageQueue>& queues)
      : schedule_(schedule), awaited_(schedule.ranks.size()), next_(schedule.ranks.size(), 0) {
    for (const auto& [edge, queue] : queues) {
      for (std::size_t i = 0; i < queue.sends.size(); ++i) {
        await(queue.sends[i], queue.receives[i]);
        await(consumer_of(queue.receives[i]), queue.sends[i]);
      }
    }
  }

  void run() {
    // All actions before next_ have ended. The ranks that are left when none can move are stuck.
    bool moved = true;
    while (moved) {
      moved = false;
      for (int rank = 0; rank < ranks(); ++rank) {
        while (!finished(rank) && !waits_for(rank)) {
          ++next_[rank];
          moved = true;
        }
      }
      moved = pass_barrier() || moved;
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!finished(rank)) throw_unsound(schedule_, waiting_ring(rank));
    }
  }

 private:
  int ranks() const { return static_cast<int>(schedule_.ranks.size()); }
  bool finished(int rank) const { return next_[rank] == schedule_.ranks[rank].size(); }
  Position front(int rank) const { return {rank, next_[rank]}; }
  bool at_step(int rank) const {
    return !finished(rank) && schedule_.ranks[rank][next_[rank]].kind == ActionKind::step;
  }

  void await(const Position& position, const Position& other) {
    auto& list = awaited_[position.rank];
    list.resize(schedule_.ranks[position.rank].size());
    list[position.index] = other;
  }

  /// Returns the computation that consumes the message of a receive.
  Position consumer_of(const Position& receive) const {
    const auto& list = schedule_.ranks[receive.rank];
    const Action& post = list[receive.index];
    const bool activation = post.kind == ActionKind::receive_activation;
    const auto takes = [&](const Action& action) {
      const bool kind = activation ? action.kind == ActionKind::forward
                                   : action.kind == ActionKind::backward ||
                                         action.kind == ActionKind::backward_input;
      return kind && action.chunk == post.chunk && action.micro_batch == post.micro_batch;
    };
    const auto at = std::find_if(list.begin() + receive.index, list.end(), takes);
    return {receive.rank, static_cast<std::size_t>(at - list.begin())};
  }

  /// Returns the action of another rank for which the rank's next action waits, if there is one. A
  /// send has begun once its rank stands at it; a receive has begun once it has been posted.
  std::optional<Position> waits_for(int rank) const {
    const Position position = front(rank);
    if (at_step(rank)) {
      for (int other = 0; other < ranks(); ++other) {
        if (!at_step(other) && !finished(other)) {
          return Position{other, schedule_.ranks[other].size() - 1};
        }
      }
      return position;  // the barrier opens for all ranks at once
    }
    const auto& list = awaited_[rank];
    if (position.index >= list.size() || !list[position.index]) return std::nullopt;
    const Position other = *list[position.index];
    const bool send = is_send(schedule_.ranks[other.rank][other.index].kind);
    const bool begun = send ? next_[other.rank] >= other.index : next_[other.rank] > other.index;
    return begun ? std::nullopt : std::optional(other);
  }

  /// Moves all ranks past their steps at once, if all of them stand there. Returns true if it did.
  bool pass_barrier() {
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!at_step(rank)) return false;
    }
    for (std::size_t& next : next_) ++next;
    return true;
  }

  /// Follows the ranks that wait for each other until one appears twice.
  Fault waiting_ring(int rank) const {
    Fault ring;
    std::set<int> seen;
    while (seen.insert(rank).second) {
      const auto other = waits_for(rank);
      if (!other) break;
      ring.insert(ring.end(),
                  {ring.empty() ? "it hangs: " : "; ", front(rank), " waits for ", *other});
      rank = other->rank;
    }
    return ring;
  }

  const Schedule& schedule_;
  std::vector<std::vector<std::optional<Position>>> awaited_;  // [rank][index in its list]
  std::vector<std::size_t> next_;
};

}  // namespace

ScheduleProof validate(const Schedule& schedule) {
  check_complete(schedule);
  check_progress(schedule, match_messages(schedule));
  ScheduleProof proof;
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
    proof.in_flight.push_back(count_in_flight(schedule, chunk));
  }
  return proof;
}

std::map<Edge, MessageQueue> match_messages(const Schedule& schedule) {
  std::map<Edge, MessageQueue> queues;
  for (int rank = 0; rank < static_cast<int>(schedule.ranks.size()); ++rank) {
    const auto& list = schedule.ranks[rank];
    for (std::size_t at = 0; at < list.size(); ++at) {
      const Action& action = list[at];
      if (is_send(action.kind)) queues[edge_of(action)].sends.push_back({rank, at});
      if (is_receive(action.kind)) queues[edge_of(action)].receives.push_back({rank, at});
    }
  }
  const auto batch = [&](const Position& position) {
    return schedule.ranks[position.rank][position.index].micro_batch;
  };
  for (const auto& [edge, queue] : queues) {
    for (std::size_t i = 0; i < queue.sends.size(); ++i) {
      const Position send = queue.sends[i], receive = queue.receives[i];
      if (batch(send) == batch(receive)) continue;
      throw_unsound(schedule, {receive, " would take what ", send,
                               " sends: " + describe(edge) + " is first in, first out"});
    }
  }
  return queues;
}

void check_progress(const Schedule& schedule, const std::map<Edge, MessageQueue>& queues) {
  Run(schedule, queues).run();
}

}  // namespace penstock::partition
