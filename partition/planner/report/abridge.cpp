#include "partition/planner/report/abridge.h"

#include <fmt/format.h>

namespace penstock::partition {
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
