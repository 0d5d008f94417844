#include "partition/schedules/transfers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>

#include "partition/edge.h"

namespace penstock {
namespace {

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

/// The place in its rank's list of every computation that takes a message.
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

/// A receive, and the place in the consumer's list before which it is posted.
struct Post {
  Action receive;
  std::size_t before = 0;
};

/// Receives of every edge, in the order of its sends.
std::map<Edge, std::vector<Post>> place_receives(const Schedule& computation) {
  const Consumers consumers = find_consumers(computation);
  std::map<Edge, std::vector<Post>> posts;
  for (const auto& list : computation.ranks) {
    for (const Action& action : list) {
      const auto send = send_after(action);
      if (!send || !is_message(computation, edge_of(*send))) continue;
      const Action receive = receive_of(*send);
      const Edge edge = edge_of(receive);
      const std::size_t at = consumers.at({edge.kind, edge.consumer, send->micro_batch});
      posts[edge].push_back({receive, at == 0 ? 0 : at - 1});
    }
  }
  for (auto& [edge, list] : posts) {  // none is posted after one that is sent later
    for (std::size_t i = list.size(); i-- > 1;) {
      list[i - 1].before = std::min(list[i - 1].before, list[i].before);
    }
  }
  return posts;
}

}  // namespace

Schedule with_transfers(Schedule computation) {
  std::vector<std::map<std::size_t, std::vector<Action>>> receives(computation.ranks.size());
  for (const auto& [edge, posts] : place_receives(computation)) {
    for (const Post& post : posts) {
      receives[computation.chunk_rank[edge.consumer]][post.before].push_back(post.receive);
    }
  }
  Schedule whole = computation;
  for (std::size_t rank = 0; rank < computation.ranks.size(); ++rank) {
    whole.ranks[rank].clear();
    for (std::size_t at = 0; at < computation.ranks[rank].size(); ++at) {
      const Action& action = computation.ranks[rank][at];
      auto& list = whole.ranks[rank];
      const auto& due = receives[rank][at];
      list.insert(list.end(), due.begin(), due.end());
      list.push_back(action);
      const auto send = send_after(action);
      if (send && is_message(computation, edge_of(*send))) list.push_back(*send);
    }
  }
  return whole;
}

}  // namespace penstock
