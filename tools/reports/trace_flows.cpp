#include "tools/reports/trace_flows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace penstock::tools {
namespace {

/// Returns the first lane that is free at `start`, or a new one.
int free_lane(std::vector<double>& ends, double start) {
  const auto found = std::ranges::find_if(ends, [&](double end) { return end <= start; });
  const auto lane = static_cast<int>(found - ends.begin());
  if (found == ends.end()) ends.push_back(0);
  return lane;
}

using partition::ActionKind;
using partition::TimedAction;

// Ends of arrows lie within their passes by this share of the pass, so that viewers attach them to
// it.
constexpr double kInside = 0.01;

/// Name of a pass: (replica, true if forward, chunk, micro-batch).
using Name = std::tuple<int, bool, int, int>;

}  // namespace

// Messages are dealt in order of their start, each to the first lane that is free: first fit, which
// needs no more lanes than messages overlap at any time.
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

// Each pass but backward_weight consumes a message of the neighbouring chunk's pass in the same
// direction, for the same micro-batch and replica. Passes on one rank exchange no message.
std::vector<TraceFlow> flows_of(const partition::Plan& plan,
                                const std::vector<std::vector<TimedAction>>& passes) {
  std::map<Name, std::pair<int, const TimedAction*>> makers;
  const auto makes = [](ActionKind kind) {
    return partition::computes(kind) && kind != ActionKind::backward_weight;
  };
  for (int rank = 0; rank < static_cast<int>(passes.size()); ++rank)
    for (const TimedAction& pass : passes[rank])
      if (makes(pass.action.kind))
        makers[{plan.place_of(rank).replica, pass.action.kind == ActionKind::forward,
                pass.action.chunk, pass.action.micro_batch}] = {rank, &pass};
  std::vector<TraceFlow> flows;
  for (const auto& [name, taker] : makers) {
    const auto& [replica, forward, chunk, micro_batch] = name;
    const partition::Edge edge{
        forward ? chunk - 1 : chunk + 1, chunk,
        forward ? partition::Edge::Kind::activation : partition::Edge::Kind::gradient};
    const auto maker = makers.find({replica, forward, edge.producer, micro_batch});
    if (maker == makers.end() || maker->second.first == taker.first) continue;
    const TimedAction &made = *maker->second.second, &took = *taker.second;
    flows.push_back({.edge = edge,
                     .micro_batch = micro_batch,
                     .from_rank = maker->second.first,
                     .to_rank = taker.first,
                     .sent = made.end - kInside * (made.end - made.start),
                     .taken = took.start + kInside * (took.end - took.start)});
  }
  std::ranges::stable_sort(flows, {}, &TraceFlow::sent);
  return flows;
}

// The plan's saved bytes are those of the most micro-batches in flight, so each of them counts as
// an equal part.
std::vector<partition::MemoryPoint> memory_of(const partition::Plan& plan, int rank,
                                              const std::vector<TimedAction>& passes) {
  std::vector<std::pair<double, int>> changes;  // micro-batches in flight
  for (const TimedAction& pass : passes) {
    if (pass.action.kind == ActionKind::forward) changes.emplace_back(pass.start, 1);
    if (pass.action.kind == ActionKind::backward || pass.action.kind == ActionKind::backward_weight)
      changes.emplace_back(pass.end, -1);
  }
  if (changes.empty()) return {};
  // Pairs sort by time, and releases come before takings at the same time.
  std::ranges::stable_sort(changes);
  int held = 0, max = 1;
  for (const auto& [time, change] : changes) max = std::max(max, held += change);
  const partition::StageBytes& bytes = plan.bytes_of(plan.place_of(rank).stage);
  const auto saved = static_cast<double>(bytes.saved);
  const double always = static_cast<double>(bytes.total()) - saved;
  std::vector<partition::MemoryPoint> points;
  held = 0;
  for (const auto& [time, change] : changes) {
    held += change;
    points.push_back({time, always + saved * held / max});
  }
  return points;
}

}  // namespace penstock::tools
