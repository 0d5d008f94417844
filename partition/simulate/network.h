#pragma once

#include <functional>
#include <vector>

#include "partition/schedule/edge.h"

namespace penstock::partition {

/// A way that messages take, and share.
struct Link {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second; above 0
  /// Of a message that is alone on it.
  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// What lies between the ranks of a pipeline. A message of b bytes is there after the latencies of
/// its links and b / r seconds; its rate r is that of its narrowest link, whose bandwidth is shared
/// evenly by all messages on it at that moment.
struct Network {
  std::vector<Link> links;
  /// Numbers of the links that a message from one rank to another takes.
  std::function<std::vector<int>(int from, int to)> route;
  std::function<double(const Edge&, int micro_batch)> bytes;
  /// Share of a message's time that its sender computes meanwhile, 0 to 1, as measured: for the
  /// rest, reckoned as if it had its links for itself, the sender waits.
  double overlap = 1;
};

}  // namespace penstock::partition
