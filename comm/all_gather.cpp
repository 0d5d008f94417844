#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "base/bit_reversal.h"
#include "base/error.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "comm/tags.h"
#include "comm/tree_rounds.h"

namespace penstock::comm {

namespace {

using Spans = std::vector<std::span<std::byte>>;

/// Returns all parts of the ranks at these places, with adjacent ones merged.
Spans spans_of(const RankParts& parts, const std::vector<int>& ranks,
               const std::vector<int>& places) {
  std::size_t max = 0;
  for (const auto& of_rank : parts) max = std::max(max, of_rank.size());
  Spans spans;
  for (std::size_t i = 0; i < max; ++i)
    for (const int place : places) {
      const auto rank = static_cast<std::size_t>(ranks[static_cast<std::size_t>(place)]);
      if (i >= parts[rank].size() || parts[rank][i].empty()) continue;
      const std::span<std::byte> part = parts[rank][i];
      if (!spans.empty() && spans.back().data() + spans.back().size() == part.data())
        spans.back() = {spans.back().data(), spans.back().size() + part.size()};
      else
        spans.push_back(part);
    }
  return spans;
}

}  // namespace

// Runs the rounds of gather_rounds() (tree_rounds.h), one after the other. Places are positions in
// the order of bit_reversed(), so a round's parts form few contiguous ranges if memory has that
// order.
void all_gather(Communicator& group, const RankParts& parts) {
  if (std::ssize(parts) != group.size())
    throw ShapeError(fmt::format("all-gather: parts of {} in a group of {}",
                                 counted(parts.size(), "rank"), group.size()));
  const std::vector<int> ranks = bit_reversed(group.size());
  for (const auto& round : gather_rounds(group.size(), group.rank())) {
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (const auto& [from, to, places] : round) {
      const bool sends = from.replica == group.rank();
      const Message message{sends ? to.replica : from.replica, tags::all_gather,
                            "owners' parts of what all ranks hold"};
      for (const std::span<std::byte> span : spans_of(parts, ranks, places))
        transfers.push_back(sends ? group.send(message, span) : group.receive(message, span));
    }
    for (const auto& transfer : transfers) wait(group, *transfer);
  }
}

}  // namespace penstock::comm
