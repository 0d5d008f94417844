#include "partition/schedule/validator/channels.h"

namespace penstock {

std::map<Edge, Channel> match_channels(const Schedule& schedule) {
  std::map<Edge, Channel> channels;
  for (int rank = 0; rank < static_cast<int>(schedule.ranks.size()); ++rank) {
    const auto& list = schedule.ranks[rank];
    for (std::size_t at = 0; at < list.size(); ++at) {
      const Action& action = list[at];
      if (is_send(action.kind)) channels[edge_of(action)].sends.push_back({rank, at});
      if (is_receive(action.kind)) channels[edge_of(action)].receives.push_back({rank, at});
    }
  }
  const auto batch = [&](const Position& position) {
    return schedule.ranks[position.rank][position.index].micro_batch;
  };
  for (const auto& [edge, channel] : channels) {
    for (std::size_t i = 0; i < channel.sends.size(); ++i) {
      const Position send = channel.sends[i], receive = channel.receives[i];
      if (batch(send) == batch(receive)) continue;
      refuse(schedule, {receive, " would take what ", send,
                        " sends: " + describe(edge) + " is first in, first out"});
    }
  }
  return channels;
}

}  // namespace penstock
