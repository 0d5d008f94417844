#include "partition/planner/simulate/traffic.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock::partition {

Link as_one(const Network& network, const std::vector<int>& route) {
  double latency = 0, narrowest = std::numeric_limits<double>::infinity();
  for (const int link : route) {
    latency += network.links[link].latency;
    narrowest = std::min(narrowest, network.links[link].bandwidth);
  }
  return {latency, narrowest};
}

// Flows share links evenly. A flow that has passed its bytes releases its share of the links. It
// then travels for its latency, during which nothing affects it.

// A flow's rate is its even share of the link where that is smallest. What it leaves unused on its
// other links is not given to their flows (no max-min fairness), so a rate depends on counts alone.
double Traffic::rate(const Flow& flow) const {
  double rate = std::numeric_limits<double>::infinity();
  for (const int link : flow.route) {
    rate = std::min(rate, network_.links[link].bandwidth / users_[link]);
  }
  return rate;
}

double Traffic::arrival(const Flow& flow) const {
  return now_ + (flow.sending ? flow.left / rate(flow) : flow.left);
}

/// Moves all flows to `now`. Rates depend on the number of flows on each link, which only start()
/// and pass() change. Both call advance() first, so every flow has kept its rate up to `now`.
void Traffic::advance(double now) {
  for (Flow& flow : flows_) {
    flow.left = std::max(0.0, flow.left - (now - now_) * (flow.sending ? rate(flow) : 1));
  }
  now_ = now;
  next_.reset();
}

// The other flows are moved first, since their rates may fall from now on.
void Traffic::start(double now, int number, std::vector<int> route, double bytes) {
  advance(now);
  Flow flow{.number = number, .route = std::move(route), .left = bytes};
  for (const int link : flow.route) {
    ++users_[link];
    flow.latency += network_.links[link].latency;
  }
  flows_.push_back(std::move(flow));
}

std::optional<double> Traffic::next() const {
  if (next_) return next_;
  for (const Flow& flow : flows_) {
    const double arrives = arrival(flow);
    if (!next_ || arrives < *next_) next_ = arrives;
  }
  return next_;
}

// Flows are due in two steps. At the end of its bytes a flow releases its links, and at the end of
// its latency it arrives. They are chosen before advance(), which rounds: the flow that set next()
// must be among them.
std::vector<int> Traffic::pass(double now) {
  for (Flow& flow : flows_) flow.due = arrival(flow) <= now;
  advance(now);
  std::vector<int> arrived;
  for (Flow& flow : flows_) {
    if (flow.due && flow.sending) {
      for (const int link : flow.route) --users_[link];
      flow.sending = false;
      flow.left = flow.latency;
      flow.due = flow.left == 0;
    }
    if (flow.due) arrived.push_back(flow.number);
  }
  std::erase_if(flows_, [](const Flow& flow) { return flow.due; });
  return arrived;
}

}  // namespace penstock::partition
