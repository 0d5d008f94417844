#include "tools/reports/trace_messages.h"

#include <algorithm>
#include <map>

namespace penstock::tools {
namespace {

/// Returns the first lane that is free at `start`, or a new one.
int free_lane(std::vector<double>& ends, double start) {
  const auto found = std::ranges::find_if(ends, [&](double end) { return end <= start; });
  const auto lane = static_cast<int>(found - ends.begin());
  if (found == ends.end()) ends.push_back(0);
  return lane;
}

}  // namespace

std::vector<TraceMessage> messages_in_lanes(const std::vector<runtime::TracedStep>& steps,
                                            runtime::Prediction prediction) {
  std::vector<TraceMessage> list;
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (partition::TimedMessage message : steps[s].predicted.at(prediction).messages) {
      for (double* time : {&message.sent, &message.freed, &message.start, &message.end})
        *time += steps[s].begin;
      list.push_back({.step = s, .message = message});
    }
  std::ranges::stable_sort(list, {}, [](const TraceMessage& each) { return each.message.start; });
  std::map<int, std::vector<double>> ends;  // end of the last message, by rank and lane
  for (TraceMessage& each : list) {
    auto& lanes = ends[each.message.to];
    each.lane = free_lane(lanes, each.message.start);
    lanes[each.lane] = each.message.end;
  }
  return list;
}

}  // namespace penstock::tools
