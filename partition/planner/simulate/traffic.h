#pragma once

#include <optional>
#include <vector>

#include "partition/planner/simulate/network.h"

namespace penstock::partition {

/// Returns the link that is equivalent to a route for a message that is alone on it: the sum of
/// latencies, and the minimum bandwidth.
Link as_one(const Network& network, const std::vector<int>& route);

/// Traffic holds the messages in flight and their current rates. Time never goes back.
class Traffic {
 public:
  explicit Traffic(const Network& network) : network_(network), users_(network.links.size(), 0) {}

  /// Starts message `number` at time `now`.
  void start(double now, int number, std::vector<int> route, double bytes);

  /// Returns the time at which the next message has passed its links or arrives, if none starts
  /// before. The result is cached until start() or pass(); finding it is linear in the number of
  /// messages.
  std::optional<double> next() const;
  /// Moves time to `now`, which must be next(). Returns the numbers of the messages that arrive.
  std::vector<int> pass(double now);

 private:
  struct Flow {
    int number = 0;
    std::vector<int> route = {};
    double left = 0;      // bytes while it uses its links, then seconds of latency
    double latency = 0;   // seconds after the last byte
    bool sending = true;  // true while it uses its links
    bool due = false;
  };
  double rate(const Flow& flow) const;
  double arrival(const Flow& flow) const;
  void advance(double now);

  const Network& network_;
  std::vector<int> users_;  // number of flows on each link
  std::vector<Flow> flows_;
  double now_ = 0;
  /// Result of next(), until a message starts or passes.
  mutable std::optional<double> next_;
};

}  // namespace penstock::partition
