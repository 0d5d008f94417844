#include "partition/planner/report/plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/quantities.h"

namespace penstock::partition {

double StageView::bytes() const {
  double sum = 0;
  for (const auto& [kind, bytes] : memory) sum += bytes;
  return sum;
}

double StageView::fullness() const { return std::isinf(limit) ? 0 : bytes() / limit; }

std::string headline_of(const PlanView& view) {
  const std::string pace =
      view.speed > 0 ? fmt::format("It trains {} s of audio a second", number_text(view.speed))
                     : fmt::format("A step takes {}", seconds_text(view.step_seconds));
  // Stages without a limit have no fullness, and are compared by their bytes.
  const auto by_share = [](const StageView& stage) {
    return std::pair(stage.fullness(), stage.bytes());
  };
  const auto fullest = std::ranges::max_element(view.stages, {}, by_share);
  const std::string limit =
      std::isinf(fullest->limit) ? "" : fmt::format(" of {}", bytes_text(fullest->limit));
  return fmt::format("{}; stage {} is the fullest, with {}{}.{}", pace,
                     fullest - view.stages.begin(), bytes_text(fullest->bytes()), limit,
                     view.binds.empty() ? "" : fmt::format(" What binds: {}.", view.binds));
}

// A point at time 0 is added if the first micro-batch comes later: this memory is in use before it.
void add_always(std::vector<MemoryPoint>& memory, double bytes) {
  if (memory.empty() || memory.front().time > 0) memory.insert(memory.begin(), MemoryPoint{});
  for (MemoryPoint& point : memory) point.bytes += bytes;
}

std::vector<TrafficView> traffic_of(const Cluster& cluster, const TrafficOf& what) {
  std::map<std::pair<int, int>, TrafficView> links;
  const auto link_of = [&](int from, int to) -> TrafficView& {
    TrafficView& link = links[{from, to}];
    link.from = from;
    link.to = to;
    return link;
  };
  // A link is busy for the latency of each message and for all bytes, as if no two messages
  // overlapped.
  const auto add = [&](double TrafficView::*kind, int from, int to, double bytes, double messages) {
    TrafficView& link = link_of(from, to);
    const LinkRates& rates = cluster.link(from, to);
    link.*kind += bytes;
    link.seconds += messages * rates.latency + bytes / rates.bandwidth;
  };
  for (std::size_t replica = 0; replica < what.bytes.size(); ++replica)
    for (std::size_t chunk = 0; chunk + 1 < what.chunk_rank.size(); ++chunk) {
      const int here = what.devices[what.chunk_rank[chunk]][replica];
      const int next = what.devices[what.chunk_rank[chunk + 1]][replica];
      if (here == next) continue;
      // The gradient that comes back is as large as the activation.
      const double bytes = what.bytes[replica][chunk];
      add(&TrafficView::pipeline, here, next, bytes, what.messages);
      add(&TrafficView::pipeline, next, here, bytes, what.messages);
    }
  // A ring all-reduce over n replicas sends 2 (n - 1) / n of the bytes over each link, in 2 (n - 1)
  // messages.
  for (std::size_t chunk = 0; chunk < what.chunk_rank.size(); ++chunk) {
    std::vector<int> ring = what.devices[what.chunk_rank[chunk]];
    std::ranges::sort(ring);
    const auto size = static_cast<double>(ring.size());
    for (std::size_t r = 0; ring.size() > 1 && r < ring.size(); ++r)
      add(&TrafficView::reduction, ring[r], ring[(r + 1) % ring.size()],
          2 * (size - 1) / size * what.gradients[chunk], 2 * (size - 1));
  }
  std::vector<TrafficView> traffic;
  for (const auto& [ends, link] : links) traffic.push_back(link);
  std::ranges::stable_sort(traffic, std::greater{}, &TrafficView::seconds);
  return traffic;
}

namespace {

// This limits the bars of all drawn replicas together. A page with more is slow to draw, and its
// bars are too narrow to read.
constexpr int kMaxBars = 20'000;
constexpr std::size_t kLongestName = 28;

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 3) + "...";
}

}  // namespace

bool has_room_for(int replicas, int passes) {
  return static_cast<long>(replicas) * passes <= kMaxBars;
}

std::string layer_names(const std::string& first, const std::string& last, int count) {
  return count == 1 ? shortened(first)
                    : fmt::format("{} to {} ({})", shortened(first), shortened(last), count);
}

}  // namespace penstock::partition
