#include "tools/reports/trace_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace penstock::tools {
namespace {

runtime::Trace example() {
  runtime::Trace trace;
  trace.plan = {.model = "m", .schedule = "gpipe", .micro_batches = 1, .ranks = {{0}, {1}}};
  trace.plan.chunks = {{.stage = 0}, {.stage = 1}};
  trace.plan.chunks[1].predicted.bytes = {.weights = 100, .saved = 30};
  runtime::TracedStep step{.begin = 2, .measured_s = 1};
  const partition::Action forward{partition::ActionKind::forward, 1, 3},
      end{partition::ActionKind::step};
  step.measured = {{}, {{forward, 2.25, 2.75, 0.125}, {end, 2.75, 3}}};
  step.predicted[runtime::Prediction::beforehand] = {1.5, {{}, {{forward, 0.5, 1}, {end, 1, 1.5}}}};
  trace.steps = {step};
  return trace;
}

TEST(TraceJson, HasACompleteEventForEachAction) {
  const auto json = nlohmann::json::parse(trace_json(example()));
  std::map<std::string, nlohmann::json> events;  // "process name"
  int names = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "M") {
      ++names;
      continue;
    }
    if (event["ph"] == "C") continue;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["tid"], 1);
    events[fmt::format("{} {}", event["pid"].get<int>(), event["name"].get<std::string>())] = event;
  }
  EXPECT_EQ(names, 2 + 2 * 2);  // processes, ranks in each
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events["1 waiting"]["ts"], 2.25e6);
  EXPECT_EQ(events["1 waiting"]["dur"], 0.375e6);
  EXPECT_EQ(events["1 F3"]["ts"], 2.625e6);
  EXPECT_EQ(events["1 F3"]["dur"], 0.125e6);
  EXPECT_EQ(events["1 F3"]["args"]["chunk"], 1);
  EXPECT_EQ(events["1 F3"]["args"]["micro_batch"], 3);
  EXPECT_EQ(events["1 F3"]["args"]["action"], "forward of micro-batch 3 on chunk 1");
  EXPECT_EQ(events["2 F3"]["ts"], 2.5e6);  // after the step's measured beginning
  EXPECT_EQ(events["2 step"]["dur"], 0.5e6);
  EXPECT_FALSE(events["1 step"]["args"].contains("chunk"));
}

TEST(TraceJson, HasAProcessForEachPrediction) {
  runtime::Trace trace = example();
  const partition::Action end{partition::ActionKind::step};
  trace.steps[0].predicted[runtime::Prediction::calibrated] = {1.25, {{}, {{end, 1, 1.25}}}};
  const auto json = nlohmann::json::parse(trace_json(trace));
  std::map<int, std::string> processes;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"].get<std::string>();
    if (event["ph"] == "X" && event["pid"] == 3) {
      EXPECT_EQ(event["dur"], 0.25e6);
    }
  }
  EXPECT_EQ(processes,
            (std::map<int, std::string>{
                {1, "measured"}, {2, "predicted beforehand"}, {3, "calibrated in place"}}));
}

TEST(TraceJson, HasMessagesAndMemory) {
  runtime::Trace trace = example();
  runtime::TracedStep& step = trace.steps.front();
  const partition::Action made{partition::ActionKind::forward, 0, 3};
  step.measured[0] = {{made, 2, 2.25, 0.125}};
  step.predicted.at(runtime::Prediction::beforehand).ranks[0] = {{made, 0, 0.5}};
  const auto json = nlohmann::json::parse(trace_json(trace));
  std::map<std::string, nlohmann::json> events;  // "process phase rank"
  for (const auto& event : json["traceEvents"])
    if (event["ph"] == "s" || event["ph"] == "f" || event["ph"] == "C")
      events[fmt::format("{} {} {}", event["pid"].get<int>(), event["ph"].get<std::string>(),
                         event.contains("tid") ? event["tid"].get<int>() : -1)] = event;
  ASSERT_EQ(events.size(), 6u);  // of measured and predicted: an arrow's ends, the last counter
  EXPECT_DOUBLE_EQ(events["1 s 0"]["ts"], 1e6 * (2.25 - 0.00125));  // within what was computed
  EXPECT_DOUBLE_EQ(events["1 f 1"]["ts"], 1e6 * (2.625 + 0.00125));
  EXPECT_DOUBLE_EQ(events["2 f 1"]["ts"], 1e6 * (2.5 + 0.005));
  EXPECT_EQ(events["1 s 0"]["id"], events["1 f 1"]["id"]);
  EXPECT_NE(events["1 s 0"]["id"], events["2 s 0"]["id"]);
  EXPECT_EQ(events["1 C -1"]["args"]["bytes"], 130);
  EXPECT_EQ(events["1 C -1"]["ts"], 2.625e6);
}

TEST(TraceJson, PredictedMessagesAreEventsOfTheirOwn) {
  runtime::Trace trace = example();
  runtime::PredictedStep& step = trace.steps.front().predicted.at(runtime::Prediction::beforehand);
  step.ranks[0] = {{{partition::ActionKind::forward, 0, 3}, 0, 0.25}};
  const partition::Edge edge{0, 1, partition::Edge::Kind::activation};
  step.messages = {{edge, 3, 0, 1, 0.25, 0.3125, 0.375, 0.5}};
  const auto json = nlohmann::json::parse(trace_json(trace));
  std::map<std::string, nlohmann::json> events, threads, flow;
  for (const auto& event : json["traceEvents"]) {
    if (event["pid"] != 2) continue;
    if (event["ph"] == "X") events[event["name"]] = event;
    if (event["name"] == "thread_name") threads[event["args"]["name"]] = event;
    if (event["name"] == "message") flow[event["ph"]] = event;
  }
  EXPECT_EQ(events["send activation 3"]["tid"], 0);
  EXPECT_EQ(events["send activation 3"]["ts"], 2.25e6);
  EXPECT_EQ(events["send activation 3"]["dur"], 0.0625e6);  // its rank waits
  EXPECT_EQ(events["send activation 3"]["args"]["chunk"], 0);
  EXPECT_EQ(events["receive activation 3"]["tid"], 2);  // beside ranks 0 and 1
  EXPECT_EQ(events["receive activation 3"]["ts"], 2.375e6);
  EXPECT_EQ(events["receive activation 3"]["dur"], 0.125e6);
  EXPECT_EQ(events["receive activation 3"]["args"]["chunk"], 1);
  EXPECT_EQ(threads["rank 1 receives"]["tid"], 2);
  EXPECT_EQ(flow["s"]["tid"], 0);
  EXPECT_EQ(flow["t"]["tid"], 2);
  EXPECT_EQ(flow["t"]["ts"], 2.4375e6);
  EXPECT_EQ(flow["f"]["tid"], 1);
  EXPECT_EQ(flow["t"]["id"], flow["s"]["id"]);
}

TEST(Trace, TakesMedians) {
  runtime::Trace trace = example();
  trace.steps.resize(3, trace.steps.front());
  trace.steps[1].measured_s = 3;
  const auto beforehand = runtime::Prediction::beforehand;
  trace.steps[2].predicted.at(beforehand).seconds = 9;
  EXPECT_EQ(trace.predictions(), std::vector{beforehand});
  EXPECT_EQ(trace.measured_s(), 1);
  EXPECT_EQ(trace.predicted_s(beforehand), 1.5);
  EXPECT_DOUBLE_EQ(trace.error(beforehand), 0.5);
}

}  // namespace
}  // namespace penstock::tools
