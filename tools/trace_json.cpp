#include "tools/trace_json.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMeasured = 1, kPredicted = 2;  // processes
constexpr double kShown = 20e-6;              // seconds of waiting that are worth an event

/// As in schedules' CSV files.
std::string short_name(const Action& action) {
  const std::string batch = std::to_string(action.micro_batch);
  switch (action.kind) {
    case ActionKind::forward:
      return "F" + batch;
    case ActionKind::backward:
      return "BW" + batch;
    case ActionKind::backward_input:
      return "B" + batch;
    case ActionKind::backward_weight:
      return "W" + batch;
    case ActionKind::reduce:
    case ActionKind::step:
      return std::string(name_of(action.kind));
    default:
      return std::string(name_of(action.kind)) + " " + batch;
  }
}

struct TraceEvent {
  int process = 0;
  std::size_t rank = 0, step = 0;
  Action action;
  double start = 0, end = 0;  // seconds
};

Json json_of(const TraceEvent& event, const std::string& name, std::string_view category) {
  Json arguments{{"action", describe(event.action)}, {"step", event.step}};
  if (event.action.kind != ActionKind::step) arguments["chunk"] = event.action.chunk;
  if (event.action.kind != ActionKind::step && event.action.kind != ActionKind::reduce)
    arguments["micro_batch"] = event.action.micro_batch;
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", 1e6 * event.start},
          {"dur", 1e6 * (event.end - event.start)},
          {"pid", event.process},
          {"tid", event.rank},
          {"args", arguments}};
}

void add_name(Json& events, const char* kind, int process, std::size_t thread,
              const std::string& name) {
  events.push_back(
      {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
}

/// The wait before it computed, if any, and the action.
void add_measured(Json& events, const WatchedAction& action, std::size_t rank, std::size_t step) {
  TraceEvent event{kMeasured, rank, step, action.action, action.start, action.end};
  const double waited = action.end - action.start - action.computing;
  if (computes(action.action.kind) && waited > kShown) {
    event.end = action.start + waited;
    const bool reads = action.action.kind == ActionKind::forward && action.action.chunk == 0;
    events.push_back(json_of(event, reads ? "features" : "waiting", "waiting"));
    event.start = event.end;
    event.end = action.end;
  }
  events.push_back(json_of(event, short_name(action.action), name_of(action.action.kind)));
}

}  // namespace

std::string trace_json(const Trace& trace) {
  Json events = Json::array();
  add_name(events, "process_name", kMeasured, 0, "measured");
  add_name(events, "process_name", kPredicted, 0, "predicted");
  for (int rank = 0; rank < trace.plan.world_size(); ++rank)
    for (const int process : {kMeasured, kPredicted}) {
      const StageReplica at = trace.plan.place_of(rank);
      add_name(events, "thread_name", process, rank,
               "rank " + std::to_string(rank) + ", stage " + std::to_string(at.stage) +
                   ", replica " + std::to_string(at.replica));
    }
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const TracedStep& step = trace.steps[s];
    for (std::size_t rank = 0; rank < step.measured.size(); ++rank)
      for (const WatchedAction& action : step.measured[rank]) add_measured(events, action, rank, s);
    for (std::size_t rank = 0; rank < step.predicted.size(); ++rank)
      for (const TimedAction& timed : step.predicted[rank]) {
        const TraceEvent event{
            kPredicted, rank, s, timed.action, step.begin + timed.start, step.begin + timed.end};
        events.push_back(json_of(event, short_name(timed.action), name_of(timed.action.kind)));
      }
  }
  return Json{{"displayTimeUnit", "ms"},
              {"otherData", {{"model", trace.plan.model}, {"schedule", trace.plan.schedule}}},
              {"traceEvents", events}}
             .dump() +
         "\n";
}

}  // namespace penstock
