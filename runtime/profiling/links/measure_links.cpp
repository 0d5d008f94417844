#include "runtime/profiling/links/measure_links.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "comm/collectives.h"
#include "comm/shutdown.h"
#include "comm/tags.h"

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

/// Returns the pair of this rank in a round, or null.
const std::pair<int, int>* pair_of(const RankPairs& round, int rank) {
  for (const auto& pair : round)
    if (pair.first == rank || pair.second == rank) return &pair;
  return nullptr;
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

// Each number is written by one rank, the sender of its way, and is zero on all others, so a sum
// over the ranks gives it to all. A barrier separates the rounds: a pair of an earlier round could
// otherwise disturb one of the next.
std::vector<double> measure_both_ways(comm::Communicator& ranks, const MeasuredLinks& links,
                                      std::size_t figures, const MeasureWay& measure) {
  std::vector<double> all(2 * figures * links.pairs.size());
  std::map<std::pair<int, int>, std::span<double>> of_pair;
  for (std::size_t i = 0; i < links.pairs.size(); ++i)
    of_pair[links.pairs[i]] = std::span(all).subspan(2 * figures * i, 2 * figures);

  const int own = ranks.rank();
  for (const RankPairs& round : link_rounds(links.pairs, links.nodes)) {
    comm::barrier(ranks);
    const auto* const pair = pair_of(round, own);
    if (pair == nullptr) continue;
    const auto [one, other] = *pair;
    const std::unique_ptr<LinkEnd> end = links.open(own == one ? other : one);
    guarded(ranks.shutdown(), [&] {  // memory can't be freed while messages wait for it
      std::vector<double> unused(figures);
      const auto of_way = [&](bool sends, std::size_t way) {
        return sends ? of_pair[*pair].subspan(way * figures, figures) : std::span(unused);
      };
      measure({one, other, own == one}, *end, of_way(own == one, 0));
      measure({other, one, own == other}, *end, of_way(own == other, 1));
    });
  }
  sum_disjoint(ranks, all);
  return all;
}

void exchange_effort(comm::Communicator& ranks, const Way& way, std::span<std::byte> what) {
  const int peer = way.sends ? way.to : way.from;
  const comm::Message message{peer, comm::tags::link_effort, "effort of a measurement"};
  comm::wait(ranks, way.sends ? *ranks.send(message, what) : *ranks.receive(message, what));
}

}  // namespace penstock::runtime
