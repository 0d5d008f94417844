#include "tools/reports/trace_json.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "tools/reports/trace_flows.h"

// Viewers know processes and threads only, so the trace is told in these: a process for the
// measured run and for each prediction, a thread for each rank. A measured pass is cut in two by
// the time that its layers took, of which the rest is the wait before it. A predicted message is an
// event of its own; messages to one rank may overlap, so they are dealt to lanes, each a thread
// after those of the ranks. An arrow leads from the pass that sends to the one that takes, through
// the message if there is one.
//
// All steps lie on one clock, that of the measured run: a prediction begins with its step.

namespace penstock::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMeasured = 1, kPredicted = 2;  // processes; further predictions follow
constexpr double kShown = 20e-6;              // shortest wait, in seconds, that gets an event

/// Returns the name of an action in schedules' CSV files.
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

/// A TraceEvent is an action at its place in the drawing: process, thread and time.
struct TraceEvent {
  int process = 0;
  std::size_t thread = 0, step = 0;
  partition::Action action;
  double start = 0, end = 0;  // seconds
};

/// Returns a complete event, in microseconds. Arguments are left out where the action has none.
Json to_json(const TraceEvent& event, const std::string& name, std::string_view category) {
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
          {"tid", event.thread},
          {"args", arguments}};
}

/// Adds a metadata event, "M", which names a process or a thread. Viewers show the name, not the
/// number.
void add_name(Json& events, const char* kind, int process, std::size_t thread,
              const std::string& name) {
  events.push_back(
      {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
}

/// Adds the action, and the wait before it if there was one.
void add_measured(Json& events, const runtime::WatchedAction& action, std::size_t rank,
                  std::size_t step) {
  TraceEvent event{kMeasured, rank, step, action.action, action.start, action.end};
  const double waited = action.end - action.start - action.computing;
  if (partition::computes(action.action.kind) && waited > kShown) {
    event.end = action.start + waited;
    const bool reads =
        action.action.kind == partition::ActionKind::forward && action.action.chunk == 0;
    events.push_back(to_json(event, reads ? "features" : "waiting", "waiting"));
    event.start = event.end;
    event.end = action.end;
  }
  events.push_back(
      to_json(event, short_name(action.action), partition::name_of(action.action.kind)));
}

using Passes = std::vector<std::vector<partition::TimedAction>>;  // [rank]

/// Returns the passes that each rank computed, without the waits before them.
Passes passes_of(const std::vector<std::vector<runtime::WatchedAction>>& measured) {
  Passes passes(measured.size());
  for (std::size_t rank = 0; rank < measured.size(); ++rank)
    for (const runtime::WatchedAction& action : measured[rank])
      if (partition::computes(action.action.kind))
        passes[rank].push_back({action.action, action.end - action.computing, action.end});
  return passes;
}

/// Returns the predicted passes, on the clock of the measured ones.
Passes passes_of(const Passes& predicted, double begin) {
  Passes passes = predicted;
  for (auto& rank : passes)
    for (partition::TimedAction& pass : rank) {
      pass.start += begin;
      pass.end += begin;
    }
  return passes;
}

/// Predicted messages, each with its place in the drawing, through which its arrow passes.
class PredictedMessages {
 public:
  PredictedMessages(const runtime::Trace& trace, int process, runtime::Prediction prediction)
      : process_(process),
        prediction_(prediction),
        messages_(messages_in_lanes(trace.steps, prediction)) {
    std::size_t next = trace.plan.world_size();  // after the threads of ranks
    for (const TraceMessage& each : messages_) threads_.try_emplace(lane_of(each), 0);
    for (auto& [lane, thread] : threads_) thread = next++;
    for (const TraceMessage& each : messages_) {
      const partition::TimedMessage& message = each.message;
      places_[{each.step, message.to, message.edge, message.micro_batch}] = {
          threads_.at(lane_of(each)), (message.start + message.end) / 2};
    }
  }

  /// Adds events. A send lies on its rank's thread, for as long as the rank waits. A receive lies
  /// on a thread beside that of its rank, for as long as the message is in flight.
  void add_events(Json& events) const {
    for (const auto& [lane, thread] : threads_)
      add_name(events, "thread_name", process_, thread,
               lane.second == 0 ? fmt::format("rank {} receives", lane.first)
                                : fmt::format("rank {} receives, {}", lane.first, lane.second + 1));
    for (const TraceMessage& each : messages_) {
      using enum partition::ActionKind;
      const auto& [edge, batch, from, to, sent, freed, start, end] = each.message;
      const bool activation = edge.kind == partition::Edge::Kind::activation;
      const auto add = [&](const TraceEvent& event) {
        events.push_back(
            to_json(event, short_name(event.action), partition::name_of(event.action.kind)));
      };
      const auto sender = static_cast<std::size_t>(from);
      const partition::Action send{activation ? send_activation : send_gradient, edge.producer,
                                   batch};
      add({process_, sender, each.step, send, sent, freed});
      const partition::Action receive{activation ? receive_activation : receive_gradient,
                                      edge.consumer, batch};
      add({process_, threads_.at(lane_of(each)), each.step, receive, start, end});
    }
  }

  int process() const { return process_; }
  runtime::Prediction prediction() const { return prediction_; }

  struct Place {
    std::size_t thread = 0;
    double time = 0;  // seconds
  };
  /// Returns the point at which a flow passes its message, or nothing if there is no such message.
  std::optional<Place> on_the_way(const TraceFlow& flow, std::size_t step) const {
    const auto found = places_.find({step, flow.to_rank, flow.edge, flow.micro_batch});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using Lane = std::pair<int, int>;  // (rank, lane)

  static Lane lane_of(const TraceMessage& each) { return {each.message.to, each.lane}; }

  int process_;
  runtime::Prediction prediction_;
  std::vector<TraceMessage> messages_;
  std::map<Lane, std::size_t> threads_;
  /// (step, receiver, edge, micro-batch)
  std::map<std::tuple<std::size_t, int, partition::Edge, int>, Place> places_;
};

/// Returns a point of an arrow: "s" is its start, "t" a point on its way, "f" its end.
Json point_of_flow(const char* phase, std::size_t id, int process, std::size_t thread,
                   double time) {
  return {{"name", "message"}, {"cat", "message"}, {"ph", phase},    {"bp", "e"},
          {"id", id},          {"ts", 1e6 * time}, {"pid", process}, {"tid", thread}};
}

/// Adds messages as arrows, which pass through `messages` if given.
void add_flows(Json& events, const runtime::Trace& trace, std::size_t step, const Passes& passes,
               const PredictedMessages* messages) {
  const int process = messages == nullptr ? kMeasured : messages->process();
  for (const TraceFlow& flow : flows_of(trace.plan, passes)) {
    const std::size_t id = events.size();  // unique among arrows
    events.push_back(point_of_flow("s", id, process, flow.from_rank, flow.sent));
    const auto place = messages == nullptr ? std::nullopt : messages->on_the_way(flow, step);
    if (place) events.push_back(point_of_flow("t", id, process, place->thread, place->time));
    events.push_back(point_of_flow("f", id, process, flow.to_rank, flow.taken));
  }
}

/// Adds the memory that ranks have in use, as counters.
void add_memory(Json& events, int process, const partition::Plan& plan, const Passes& passes) {
  for (int rank = 0; rank < static_cast<int>(passes.size()); ++rank)
    for (const partition::MemoryPoint& point : memory_of(plan, rank, passes[rank]))
      events.push_back({{"name", fmt::format("memory of rank {}", rank)},
                        {"ph", "C"},
                        {"ts", 1e6 * point.time},
                        {"pid", process},
                        {"args", {{"bytes", point.bytes}}}});
}

/// Adds the predicted step: actions, the arrows of its messages, and memory.
void add_predicted(Json& events, const runtime::Trace& trace, std::size_t s,
                   const PredictedMessages& messages) {
  const double begin = trace.steps[s].begin;
  const Passes passes = passes_of(trace.steps[s].predicted.at(messages.prediction()).ranks, begin);
  for (std::size_t rank = 0; rank < passes.size(); ++rank)
    for (const partition::TimedAction& timed : passes[rank])
      events.push_back(to_json({messages.process(), rank, s, timed.action, timed.start, timed.end},
                               short_name(timed.action), partition::name_of(timed.action.kind)));
  add_flows(events, trace, s, passes, &messages);
  add_memory(events, messages.process(), trace.plan, passes);
}

/// Adds a step as it was measured, then as each prediction has it.
void add_step(Json& events, const runtime::Trace& trace, std::size_t s,
              const std::vector<PredictedMessages>& messages) {
  const runtime::TracedStep& step = trace.steps[s];
  for (std::size_t rank = 0; rank < step.measured.size(); ++rank)
    for (const runtime::WatchedAction& action : step.measured[rank])
      add_measured(events, action, rank, s);
  const Passes measured = passes_of(step.measured);
  add_flows(events, trace, s, measured, nullptr);
  add_memory(events, kMeasured, trace.plan, measured);
  for (const PredictedMessages& each : messages) add_predicted(events, trace, s, each);
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
  std::vector<PredictedMessages> messages;
  for (int process = kPredicted; process < processes; ++process)
    messages.emplace_back(trace, process, predictions[process - kPredicted]).add_events(events);
  for (std::size_t s = 0; s < trace.steps.size(); ++s) add_step(events, trace, s, messages);
  return Json{{"displayTimeUnit", "ms"},
              {"otherData", {{"model", trace.plan.model}, {"schedule", trace.plan.schedule}}},
              {"traceEvents", events}}
             .dump() +
         "\n";
}

}  // namespace penstock::tools
