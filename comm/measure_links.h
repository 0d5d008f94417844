#pragma once

#include <functional>
#include <span>

#include "comm/communicator.h"
#include "comm/link_end.h"

namespace penstock::comm {

/// One way of a link that is measured.
struct Way {
  int from = 0, to = 0;
  bool sends = false;  // this rank
};

/// Calls measure(way, this rank's end, or null) for both ways of each link in turn, on every rank
/// of `ranks`, all of which call this. Ends are opened and closed by both ranks at the same time.
void measure_both_ways(Communicator& ranks, const RankPairs& links, const OpenLink& open,
                       const std::function<void(const Way& way, LinkEnd* end)>& measure);

/// What the sender knows, to the receiver, beside the link.
void tell(Communicator& ranks, const Way& way, std::span<std::byte> what);

}  // namespace penstock::comm
