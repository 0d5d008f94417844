#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// The size of an activation, as large as models of today have them; and how many of them may be
/// under way.
inline constexpr std::size_t kLinkMessage = std::size_t{4} << 20;
inline constexpr int kLinkMessages = 8;

/// A rank's end of a link to another, for measurements: messages of at most kLinkMessage bytes, out
/// of and into memory of its own. What is asked for behind a receive is done behind its message.
class LinkEnd {
 public:
  virtual ~LinkEnd() = default;

  /// Starts so many messages of so many bytes.
  virtual void send(std::size_t bytes, int times = 1) = 0;
  /// Takes as many; they may arrive later.
  virtual void receive(std::size_t bytes, int times = 1) = 0;
  /// Starts work that takes about so long; as much for as many seconds. The first call may take
  /// longer.
  virtual void compute(double seconds) = 0;
  /// Returns when all of this is done.
  virtual void finish() = 0;
};

/// Opens this rank's end of the link to a rank, which opens the other one.
using OpenLink = std::function<std::unique_ptr<LinkEnd>(int peer)>;

/// Links between host memory, by the ranks' own messages. A receive waits for the messages; work
/// lets messages progress about every tenth of a millisecond, as a stage that computes does.
[[nodiscard]] OpenLink host_links(Communicator& ranks);

/// Links to measure, by their two ranks.
using RankPairs = std::vector<std::pair<int, int>>;

/// Each rank and the next: (0, 1), (1, 2), …
[[nodiscard]] RankPairs neighbours(int ranks);
/// Every two ranks: (0, 1), (0, 2), …, (1, 2), …
[[nodiscard]] RankPairs every_pair(int ranks);

}  // namespace penstock::comm
