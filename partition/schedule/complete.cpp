#include "partition/schedule/complete.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

// All transfers follow from the computations. A send stands right after the computation that makes
// its message, so only the positions of receives are to be chosen. A receive that is posted late
// saves buffers, but a receive that is posted too late can deadlock: the sender waits for it.

/// Returns the send of a computation's result, if the computation has one.
std::optional<Action> send_after(const Action& action) {
  switch (action.kind) {
    case ActionKind::forward:
      return Action{ActionKind::send_activation, action.chunk, action.micro_batch};
    case ActionKind::backward:
    case ActionKind::backward_input:
      return Action{ActionKind::send_gradient, action.chunk, action.micro_batch};
    default:
      return std::nullopt;
  }
}

bool waits_for_message(const Action& action) { return send_after(action).has_value(); }

Action receive_of(const Action& send) {
  const Edge edge = edge_of(send);
  const bool activation = edge.kind == Edge::Kind::activation;
  return {activation ? ActionKind::receive_activation : ActionKind::receive_gradient, edge.consumer,
          send.micro_batch};
}

/// The index of every computation that consumes a message, in its rank's list.
using Consumers = std::map<std::tuple<Edge::Kind, int, int>, std::size_t>;

Consumers find_consumers(const Schedule& computation) {
  Consumers found;
  for (const auto& list : computation.ranks) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      if (!waits_for_message(list[at])) continue;
      const auto kind =
          list[at].kind == ActionKind::forward ? Edge::Kind::activation : Edge::Kind::gradient;
      found[{kind, list[at].chunk, list[at].micro_batch}] = at;
    }
  }
  return found;
}

/// ListPositions says where the consumer of each computation's message stands in its own list when
/// the computation ends. It runs all ranks in rounds, one computation each, with messages that take
/// no time. Computations that can never run have no position.
class ListPositions {
 public:
  explicit ListPositions(const Schedule& computation) : computation_(computation) {
    std::vector<std::size_t> next(computation.ranks.size(), 0);
    // All actions before next[rank] are done. Running an action never blocks another rank, so a
    // round in which no rank moves is the last.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < next.size(); ++rank) {
        const auto& list = computation.ranks[rank];
        if (next[rank] == list.size() || !ready(list[next[rank]])) continue;
        const Action& done = list[next[rank]++];
        places_[{done.kind, done.chunk, done.micro_batch}] = next[receiver_of(done)];
        moved = true;
      }
    }
  }

  std::optional<std::size_t> place_of(const Action& when) const {
    const auto found = places_.find({when.kind, when.chunk, when.micro_batch});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  /// Returns rank 0 if the action sends nothing.
  int receiver_of(const Action& done) const {
    const auto send = send_after(done);
    if (!send || !is_message(computation_, edge_of(*send))) return 0;
    return computation_.chunk_rank[edge_of(*send).consumer];
  }
  bool done(ActionKind kind, int chunk, int batch) const {
    return places_.contains({kind, chunk, batch});
  }

  bool ready(const Action& action) const {
    const int chunk = action.chunk, batch = action.micro_batch;
    if (action.kind == ActionKind::forward) {
      return chunk == 0 || done(ActionKind::forward, chunk - 1, batch);
    }
    if (!waits_for_message(action)) return true;
    if (chunk + 1 == computation_.chunks()) return done(ActionKind::forward, chunk, batch);
    return done(ActionKind::backward, chunk + 1, batch) ||
           done(ActionKind::backward_input, chunk + 1, batch);
  }

  const Schedule& computation_;
  std::map<std::tuple<ActionKind, int, int>, std::size_t> places_;
};

/// A Post is a receive, and the index in the consumer's list before which it is posted.
struct Post {
  Action receive;
  std::size_t before = 0;
};

/// Returns the receives of every edge, in the order of its sends. A message that no computation
/// consumes has no receive.
std::map<Edge, std::vector<Post>> place_receives(const Schedule& computation, Posting posting) {
  const Consumers consumers = find_consumers(computation);
  const auto turns =
      posting == Posting::when_sent ? std::optional<ListPositions>(computation) : std::nullopt;
  std::map<Edge, std::vector<Post>> posts;
  for (const auto& list : computation.ranks) {
    for (const Action& action : list) {
      const auto send = send_after(action);
      if (!send || !is_message(computation, edge_of(*send))) continue;
      const Action receive = receive_of(*send);
      const Edge edge = edge_of(receive);
      const auto found = consumers.find({edge.kind, edge.consumer, send->micro_batch});
      if (found == consumers.end()) continue;
      const std::size_t at = found->second, ahead = at == 0 ? 0 : at - 1;
      const auto then = turns ? turns->place_of(action) : std::nullopt;
      posts[edge].push_back({receive, std::min(ahead, then.value_or(ahead))});
    }
  }
  // No receive may be posted after a receive whose message is sent later.
  for (auto& [edge, list] : posts) {
    for (std::size_t i = list.size(); i-- > 1;) {
      list[i - 1].before = std::min(list[i - 1].before, list[i].before);
    }
  }
  return posts;
}

// A generator states only what each rank computes. This file derives the rest of the lists from it.

bool adds_weight_gradient(const Action& action) {
  return action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight;
}

bool sound(const Schedule& schedule) {
  try {
    validate(schedule);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

std::vector<Action> with_reduce_and_step(const std::vector<Action>& list) {
  std::map<int, std::size_t> last;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (adds_weight_gradient(list[at])) last[list[at].chunk] = at;
  }
  std::vector<Action> whole;
  for (std::size_t at = 0; at < list.size(); ++at) {
    whole.push_back(list[at]);
    const auto found = last.find(list[at].chunk);
    if (found != last.end() && found->second == at) {
      whole.push_back({ActionKind::reduce, list[at].chunk});
    }
  }
  whole.push_back({ActionKind::step});
  return whole;
}

}  // namespace

Schedule with_transfers(Schedule computation, Posting posting) {
  std::vector<std::vector<Post>> receives(computation.ranks.size());
  for (const auto& [edge, posts] : place_receives(computation, posting)) {
    auto& of_rank = receives[computation.chunk_rank[edge.consumer]];
    of_rank.insert(of_rank.end(), posts.begin(), posts.end());
  }
  Schedule whole = computation;
  for (std::size_t rank = 0; rank < computation.ranks.size(); ++rank) {
    std::ranges::stable_sort(receives[rank], {}, &Post::before);
    auto due = receives[rank].cbegin();
    auto& list = whole.ranks[rank];
    list.clear();
    for (std::size_t at = 0; at < computation.ranks[rank].size(); ++at) {
      const Action& action = computation.ranks[rank][at];
      for (; due != receives[rank].cend() && due->before == at; ++due) list.push_back(due->receive);
      list.push_back(action);
      const auto send = send_after(action);
      if (send && is_message(computation, edge_of(*send))) list.push_back(*send);
    }
  }
  return whole;
}

Schedule with_ends(Schedule schedule) {
  if (schedule.forward_only) return schedule;
  for (auto& list : schedule.ranks) list = with_reduce_and_step(list);
  return schedule;
}

Schedule complete(Schedule computation) {
  const Schedule ended = with_ends(std::move(computation));
  Schedule late = with_transfers(ended);
  return sound(late) ? late : with_transfers(ended, Posting::when_sent);
}

Schedule in_line(std::string name, int stages, int micro_batches,
                 const std::function<std::vector<Action>(int stage)>& list) {
  Schedule schedule{.name = std::move(name), .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.chunk_rank.push_back(stage);
    schedule.ranks.push_back(list(stage));
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
