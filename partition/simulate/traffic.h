#pragma once

#include <optional>
#include <vector>

#include "partition/simulate/network.h"

namespace penstock::partition {

/// The link that a route is to a message which is alone on it.
Link as_one(const Network& network, const std::vector<int>& route);

/// The messages under way, and how fast each moves. Time only goes forward.
class Traffic {
 public:
  explicit Traffic(const Network& network) : network_(network), users_(network.links.size(), 0) {}

  /// A message on its way from `now`, known by its number.
  void start(double now, int number, std::vector<int> route, double bytes);

  /// When the next message has passed its links or is there, if none starts before.
  std::optional<double> next() const;
  /// Lets time go on to `now`, which is next(); numbers of those that are there.
  std::vector<int> pass(double now);

 private:
  struct Flow {
    int number = 0;
    std::vector<int> route = {};
    double left = 0;      // bytes while it takes up its links, then seconds
    double latency = 0;   // seconds behind the last byte
    bool sending = true;  // takes up its links
    bool due = false;
  };
  double rate(const Flow& flow) const;
  double arrival(const Flow& flow) const;
  void advance(double now);

  const Network& network_;
  std::vector<int> users_;  // of each link
  std::vector<Flow> flows_;
  double now_ = 0;
  mutable std::optional<double> next_;  // once it is known, until something starts or passes
};

}  // namespace penstock::partition
