#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

/// Size of a measured message, that of a large model's activation, and the largest number of
/// messages in flight.
inline constexpr std::size_t kLinkMessage = std::size_t{4} << 20;
inline constexpr int kLinkMessages = 8;

/// A rank's end of a link to another, for measurements. It sends and receives messages of at most
/// kLinkMessage bytes out of and into its own memory. Work that is started after a receive is done
/// after its message.
class LinkEnd {
 public:
  virtual ~LinkEnd() = default;

  /// Starts to send `times` messages of `bytes` each.
  virtual void send(std::size_t bytes, int times = 1) = 0;
  /// Starts to receive `times` messages of `bytes` each; they may arrive later.
  virtual void receive(std::size_t bytes, int times = 1) = 0;
  /// Starts work that takes about `seconds`. Equal `seconds` give equal work. The first call may
  /// take longer.
  virtual void compute(double seconds) = 0;
  /// Returns when all that was started is done.
  virtual void finish() = 0;
};

/// Opens this rank's end of the link to `peer`, which opens the other end.
using OpenLink = std::function<std::unique_ptr<LinkEnd>(int peer)>;

/// Opens links between host memory, over the ranks' own messages. A receive waits for the messages.
/// compute() calls progress() about every tenth of a millisecond, as a stage that computes does.
[[nodiscard]] OpenLink host_links(comm::Communicator& ranks);

/// Links to measure, each as its two ranks.
using RankPairs = std::vector<std::pair<int, int>>;

/// Returns each rank with the next: (0, 1), (1, 2), …
[[nodiscard]] RankPairs neighbours(int ranks);
/// Returns every pair of ranks: (0, 1), (0, 2), …, (1, 2), …
[[nodiscard]] RankPairs every_pair(int ranks);

}  // namespace penstock::runtime
