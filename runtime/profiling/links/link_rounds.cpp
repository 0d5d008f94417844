#include "runtime/profiling/links/link_rounds.h"

#include <algorithm>
#include <map>

namespace penstock::runtime {
namespace {

using BusyRounds = std::vector<bool>;  // true in the rounds in which a node is busy

bool busy(const BusyRounds& rounds, std::size_t round) {
  return round < rounds.size() && rounds[round];
}

void occupy(BusyRounds& rounds, std::size_t round) {
  rounds.resize(std::max(rounds.size(), round + 1));
  rounds[round] = true;
}

}  // namespace

std::vector<RankPairs> link_rounds(const RankPairs& pairs, const std::vector<int>& nodes) {
  const auto node_of = [&](int rank) {
    return nodes.empty() ? 0 : nodes[static_cast<std::size_t>(rank)];
  };
  std::map<int, BusyRounds> busy_rounds;
  std::vector<RankPairs> rounds;
  for (const auto& [one, other] : pairs) {
    BusyRounds& of_one = busy_rounds[node_of(one)];
    BusyRounds& of_other = busy_rounds[node_of(other)];
    std::size_t round = 0;
    while (busy(of_one, round) || busy(of_other, round)) ++round;
    occupy(of_one, round);
    occupy(of_other, round);
    rounds.resize(std::max(rounds.size(), round + 1));
    rounds[round].emplace_back(one, other);
  }
  return rounds;
}

}  // namespace penstock::runtime
