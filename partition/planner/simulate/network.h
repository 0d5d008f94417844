#pragma once

#include <functional>
#include <vector>

#include "partition/schedule/edge.h"

namespace penstock::partition {

/// A Link is a connection that messages share.
struct Link {
  double latency = 0;    // in seconds
  double bandwidth = 0;  // bytes per second; above 0
  /// Returns the time of a message that is alone on the link.
  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// A Network is the links between the ranks of a pipeline. A message of b bytes arrives after the
/// latencies of its links and b / r seconds. Its rate r is the minimum over its links of the
/// bandwidth divided by the number of messages on the link at that moment.
struct Network {
  std::vector<Link> links;
  /// Returns the indices of the links that a message from one rank to another passes.
  std::function<std::vector<int>(int from, int to)> route;
  std::function<double(const Edge&, int micro_batch)> bytes;
  /// The measured share of a message's time, 0 to 1, in which its sender can compute. The sender
  /// waits for the rest of the time that the message would take alone on its links.
  double overlap = 1;
};

}  // namespace penstock::partition
