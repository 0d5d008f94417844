#include "tools/trace_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "tools/trace_flows.h"

namespace penstock::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMeasured = 1, kPredicted = 2;  // processes; of further predictions the next
constexpr double kShown = 20e-6;              // seconds of waiting that are worth an event

/// As in schedules' CSV files.
std::string short_name(const partition::Action& action) {
  const int batch = action.micro_batch;
  switch (action.kind) {
    case partition::ActionKind::forward:
      return fmt::format("F{}", batch);
    case partition::ActionKind::backward:
      return fmt::format("BW{}", batch);
    case partition::ActionKind::backward_input:
      return fmt::format("B{}", batch);
    case partition::ActionKind::backward_weight:
      return fmt::format("W{}", batch);
    case partition::ActionKind::reduce:
    case partition::ActionKind::step:
      return std::string(partition::name_of(action.kind));
    default:
      return fmt::format("{} {}", partition::name_of(action.kind), batch);
  }
}

struct TraceEvent {
  int process = 0;
  std::size_t rank = 0, step = 0;
  partition::Action action;
  double start = 0, end = 0;  // seconds
};

Json json_of(const TraceEvent& event, const std::string& name, std::string_view category) {
  Json arguments{{"action", partition::describe(event.action)}, {"step", event.step}};
  if (event.action.kind != partition::ActionKind::step) arguments["chunk"] = event.action.chunk;
  if (event.action.kind != partition::ActionKind::step &&
      event.action.kind != partition::ActionKind::reduce)
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
void add_measured(Json& events, const runtime::WatchedAction& action, std::size_t rank,
                  std::size_t step) {
  TraceEvent event{kMeasured, rank, step, action.action, action.start, action.end};
  const double waited = action.end - action.start - action.computing;
  if (partition::computes(action.action.kind) && waited > kShown) {
    event.end = action.start + waited;
    const bool reads =
        action.action.kind == partition::ActionKind::forward && action.action.chunk == 0;
    events.push_back(json_of(event, reads ? "features" : "waiting", "waiting"));
    event.start = event.end;
    event.end = action.end;
  }
  events.push_back(
      json_of(event, short_name(action.action), partition::name_of(action.action.kind)));
}

using Passes = std::vector<std::vector<partition::TimedAction>>;  // [rank]

/// What each rank computed, without what it waited before.
Passes passes_of(const std::vector<std::vector<runtime::WatchedAction>>& measured) {
  Passes passes(measured.size());
  for (std::size_t rank = 0; rank < measured.size(); ++rank)
    for (const runtime::WatchedAction& action : measured[rank])
      if (partition::computes(action.action.kind))
        passes[rank].push_back({action.action, action.end - action.computing, action.end});
  return passes;
}

/// Every action of step `number`, which begins at `begin`, as predicted.
void add_predicted(Json& events, const Passes& predicted, int process, std::size_t number,
                   double begin) {
  for (std::size_t rank = 0; rank < predicted.size(); ++rank)
    for (const partition::TimedAction& timed : predicted[rank]) {
      const TraceEvent event{process,          rank, number, timed.action, begin + timed.start,
                             begin + timed.end};
      events.push_back(
          json_of(event, short_name(timed.action), partition::name_of(timed.action.kind)));
    }
}

/// The same as predicted, on the clock of what was measured.
Passes passes_of(const Passes& predicted, double begin) {
  Passes passes = predicted;
  for (auto& rank : passes)
    for (partition::TimedAction& pass : rank) {
      pass.start += begin;
      pass.end += begin;
    }
  return passes;
}

/// Messages as arrows, and what ranks have in use as counters.
void add_flows(Json& events, int process, const partition::Plan& plan, const Passes& passes) {
  for (const TraceFlow& flow : flows_of(plan, passes)) {
    const std::size_t id = events.size();  // no other arrow's
    const auto add = [&](const char* phase, int rank, double time) {
      events.push_back({{"name", "message"},
                        {"cat", "message"},
                        {"ph", phase},
                        {"bp", "e"},
                        {"id", id},
                        {"ts", 1e6 * time},
                        {"pid", process},
                        {"tid", rank}});
    };
    add("s", flow.from_rank, flow.sent);
    add("f", flow.to_rank, flow.taken);
  }
  for (int rank = 0; rank < static_cast<int>(passes.size()); ++rank)
    for (const partition::MemoryPoint& point : memory_of(plan, rank, passes[rank]))
      events.push_back({{"name", fmt::format("memory of rank {}", rank)},
                        {"ph", "C"},
                        {"ts", 1e6 * point.time},
                        {"pid", process},
                        {"args", {{"bytes", point.bytes}}}});
}

}  // namespace

std::string trace_json(const runtime::Trace& trace) {
  Json events = Json::array();
  add_name(events, "process_name", kMeasured, 0, "measured");
  const std::vector<runtime::Prediction> predictions = trace.predictions();
  const int processes = kPredicted + static_cast<int>(predictions.size());
  for (int process = kPredicted; process < processes; ++process)
    add_name(events, "process_name", process, 0,
             runtime::name_of(predictions[process - kPredicted]));
  for (int rank = 0; rank < trace.plan.world_size(); ++rank)
    for (int process = kMeasured; process < processes; ++process) {
      const partition::StageReplica at = trace.plan.place_of(rank);
      add_name(events, "thread_name", process, rank,
               fmt::format("rank {}, stage {}, replica {}", rank, at.stage, at.replica));
    }
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const runtime::TracedStep& step = trace.steps[s];
    for (std::size_t rank = 0; rank < step.measured.size(); ++rank)
      for (const runtime::WatchedAction& action : step.measured[rank])
        add_measured(events, action, rank, s);
    add_flows(events, kMeasured, trace.plan, passes_of(step.measured));
    for (int process = kPredicted; process < processes; ++process) {
      const Passes& predicted = step.predicted.at(predictions[process - kPredicted]).ranks;
      add_predicted(events, predicted, process, s, step.begin);
      add_flows(events, process, trace.plan, passes_of(predicted, step.begin));
    }
  }
  return Json{{"displayTimeUnit", "ms"},
              {"otherData", {{"model", trace.plan.model}, {"schedule", trace.plan.schedule}}},
              {"traceEvents", events}}
             .dump() +
         "\n";
}

}  // namespace penstock::tools
