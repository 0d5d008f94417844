#include "runtime/devices/rank_nodes.h"

#include <map>

#include "runtime/devices/rank_info.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {

RankNodes nodes_of(const std::vector<std::string>& machines) {
  RankNodes nodes;
  std::map<std::string, int> places;
  for (const std::string& machine : machines) {
    const auto [known, is_new] = places.emplace(machine, static_cast<int>(nodes.names.size()));
    if (is_new) nodes.names.push_back(machine);
    nodes.of_rank.push_back(known->second);
  }
  return nodes;
}

std::vector<std::string> texts_of_ranks(comm::Communicator& ranks, const std::string& own) {
  Packer packed;
  packed.add(own);
  std::vector<std::string> all;
  for (Unpacker texts(gather_to_all(ranks, packed)); !texts.empty();) all.push_back(texts.text());
  return all;
}

RankNodes nodes_of(comm::Communicator& ranks) {
  return nodes_of(texts_of_ranks(ranks, machine_name()));
}

}  // namespace penstock::runtime
