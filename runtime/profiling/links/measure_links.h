#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "runtime/profiling/links/link_end.h"

namespace penstock::runtime {

/// Groups pairs into rounds of pairs that are measured at the same time. Rank r is on nodes[r]; if
/// `nodes` is empty, all ranks are on one node. No node has two pairs in a round, since they would
/// share its memory or its network adapter. Each pair, in the order given, goes into the first
/// round in which both of its nodes are free. So there are at most 2 m - 1 rounds if no node has
/// more than m pairs, and the pairs within one node keep their order.
[[nodiscard]] std::vector<RankPairs> link_rounds(const RankPairs& pairs,
                                                 const std::vector<int>& nodes = {});

/// One direction of a link that is measured.
struct Way {
  int from = 0, to = 0;
  bool sends = false;  // true on rank `from`
};

/// Links to measure, how to open them, and the node of each rank (link_rounds()).
struct MeasuredLinks {
  const RankPairs& pairs;
  const OpenLink& open;
  const std::vector<int>& nodes;
};

/// Measures one way of a link; both of its ranks call it. The sender's figures count, and are zero
/// before.
using MeasureWay = std::function<void(const Way& way, LinkEnd& end, std::span<double> figures)>;

/// Measures one way of each link and then the other. The links of a round are measured at the same
/// time. Both ranks of a link open and close their ends together. Every rank of `ranks` calls it.
/// Returns `figures` numbers per way on all ranks: first link there, first link back, second link
/// there, and so on.
[[nodiscard]] std::vector<double> measure_both_ways(comm::Communicator& ranks,
                                                    const MeasuredLinks& links, std::size_t figures,
                                                    const MeasureWay& measure);

/// Copies `what` from the sender to the receiver, by a message beside the link.
void exchange_effort(comm::Communicator& ranks, const Way& way, std::span<std::byte> what);

}  // namespace penstock::runtime
