#include "partition/schedule/validator/message_queues.h"

namespace penstock::partition {

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

}  // namespace penstock::partition
