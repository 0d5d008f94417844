#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/link_end.h"

namespace penstock::comm {

/// One way of a link that is measured.
struct Way {
  int from = 0, to = 0;
  bool sends = false;  // this rank
};

/// Links to measure, how to open them, and where the ranks are (link_rounds.h).
struct MeasuredLinks {
  const RankPairs& pairs;
  const OpenLink& open;
  const std::vector<int>& nodes;
};

/// What both ranks of a link do for one of its ways. The sender's figures count, which are zeros
/// before.
using MeasureWay = std::function<void(const Way& way, LinkEnd& end, std::span<double> figures)>;

/// Measures one way of each link and then the other, the links of a round at the same time. Ends
/// are opened and closed by both ranks at the same time. Every rank of `ranks` calls this. Returns
/// on all of them so many figures of each way: of the first link there, of the first link back, of
/// the second link there, and so on.
[[nodiscard]] std::vector<double> measure_both_ways(Communicator& ranks, const MeasuredLinks& links,
                                                    std::size_t figures, const MeasureWay& measure);

/// What the sender knows, to the receiver, beside the link.
void tell(Communicator& ranks, const Way& way, std::span<std::byte> what);

}  // namespace penstock::comm
