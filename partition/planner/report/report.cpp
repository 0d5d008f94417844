#include "partition/planner/report/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/report/html_page.h"
#include "partition/planner/report/page.h"
#include "partition/planner/report/step_causes.h"

// The page has three places, which are filled in here: its style, its script, and its data as JSON
// in a script element. Bars, memory points and blanks are arrays of numbers rather than objects, as
// a page may have tens of thousands of them. The page's script knows the order of their elements.

namespace penstock::partition {
namespace {

using Json = nlohmann::ordered_json;

/// Rounds times to nanoseconds, which makes the text shorter.
double rounded(double seconds) { return std::round(seconds * 1e9) / 1e9; }

/// Returns the number that the page's script uses for the kind.
int number_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return 0;
    case ActionKind::backward_input:
      return 1;
    case ActionKind::backward_weight:
      return 2;
    case ActionKind::backward:
      return 3;
    case ActionKind::reduce:
      return 4;
    default:
      return 5;
  }
}

/// Uses the names of the page's script.
Json to_json(const IdleCauses& causes) {
  return {{"fill", causes.fill},
          {"wait", causes.wait},
          {"message", causes.message},
          {"reduction", causes.reduction},
          {"drain", causes.drain}};
}

/// Returns entries [start, end, cause, rank that it waits for]. Causes have the numbers of the
/// page's script.
Json to_json(const std::vector<Blank>& blanks) {
  Json json = Json::array();
  for (const Blank& blank : blanks) {
    const double start = rounded(blank.start), end = rounded(blank.end);
    if (end > start) json.push_back({start, end, static_cast<int>(blank.cause), blank.rank});
  }
  return json;
}

/// Converts a replica. A replica without micro-batches in the step still has the step's length.
Json to_json(const ReplicaView& replica, const std::vector<int>& chunk_rank, double step_seconds) {
  Json json{{"end", 0.0},
            {"actions", Json::array()},
            {"memory", Json::array()},
            {"idle", Json::array()},
            {"blanks", Json::array()},
            {"critical", Json::array()}};
  for (const IdleCauses& causes : idle_causes(replica.step, chunk_rank))
    json["idle"].push_back(to_json(causes));
  for (const auto& rank : blanks(replica.step, chunk_rank)) json["blanks"].push_back(to_json(rank));
  for (const ActionPlace& at : critical_path(replica.step, chunk_rank))
    json["critical"].push_back({at.rank, at.place});
  double end = 0;
  for (const auto& rank : replica.step.ranks) {
    Json actions = Json::array();
    for (const TimedAction& timed : rank) {
      end = std::max(end, timed.end);
      actions.push_back({number_of(timed.action.kind), timed.action.chunk, timed.action.micro_batch,
                         rounded(timed.start), rounded(timed.end)});
    }
    json["actions"].push_back(std::move(actions));
  }
  for (const auto& stage : replica.memory) {
    Json points = Json::array();
    for (const MemoryPoint& point : stage)
      points.push_back({rounded(point.time), std::round(point.bytes)});
    json["memory"].push_back(std::move(points));
  }
  json["end"] = rounded(end > 0 ? end : step_seconds);
  return json;
}

Json to_json(const StageView& stage) {
  Json memory = Json::array();
  for (const auto& [kind, bytes] : stage.memory) memory.push_back({kind, bytes});
  return {{"layers", stage.layers},   {"again", stage.recomputed},
          {"devices", stage.devices}, {"memory", memory},
          {"bytes", stage.bytes()},   {"limit", stage.limit},  // JSON has null for infinity
          {"seconds", stage.seconds}, {"idle", stage.idle}};
}

/// Lists all devices of the cluster, with stage and replica of those in use and -1 for idle ones,
/// which the page draws too.
Json devices_of(const PlanView& view) {
  Json devices = Json::array();
  for (int i = 0; i < view.cluster.size(); ++i) {
    const Device& device = view.cluster.devices[i];
    devices.push_back({{"name", view.cluster.name_of(i)},
                       {"kind", device.kind},
                       {"node", device.node},
                       {"usable", view.cluster.usable(i)},
                       {"stage", -1},
                       {"replica", -1}});
  }
  for (std::size_t k = 0; k < view.stages.size(); ++k)
    for (std::size_t r = 0; r < view.stages[k].devices.size(); ++r) {
      Json& device = devices[view.stages[k].devices[r]];
      device["stage"] = k;
      device["replica"] = r;
    }
  return devices;
}

Json to_json(const PlanView& view) {
  Json json{{"title", view.title},
            {"facts", Json::array()},
            {"headline", headline_of(view)},
            {"step", view.step_seconds},
            {"steps", view.steps},
            {"speed", view.speed},
            {"binds", view.binds},
            {"advice", view.advice},
            {"schedule", view.schedule.name},
            {"chunkRank", view.schedule.chunk_rank},
            {"nodes", view.cluster.nodes},
            {"devices", devices_of(view)},
            {"stages", Json::array()},
            {"replicas", Json::array()},
            {"traffic", Json::array()},
            {"alternatives", Json::array()},
            {"leftOut", view.left_out}};
  for (const auto& [name, value] : view.facts) json["facts"].push_back({name, value});
  if (!view.command.empty()) json["facts"].push_back({"train it", view.command});
  for (const StageView& stage : view.stages) json["stages"].push_back(to_json(stage));
  for (const ReplicaView& replica : view.replicas)
    json["replicas"].push_back(to_json(replica, view.schedule.chunk_rank, view.step_seconds));
  for (const TrafficView& link : view.traffic)
    json["traffic"].push_back({{"from", link.from},
                               {"to", link.to},
                               {"pipeline", link.pipeline},
                               {"reduction", link.reduction},
                               {"seconds", link.seconds},
                               {"gbPerS", view.cluster.link(link.from, link.to).bandwidth / 1e9}});
  for (const CandidateView& other : view.candidates)
    json["alternatives"].push_back({{"what", other.what},
                                    {"step", other.step_seconds},
                                    {"about", other.about},
                                    {"speed", other.speed},
                                    {"why", other.why}});
  return json;
}

}  // namespace

std::string report(const PlanView& view) {
  std::string page =
      assembled_page({"penstock plan", report_page(), report_style(), report_script()});
  const std::string json = to_json(view).dump(-1, ' ', false, Json::error_handler_t::replace);
  fill_place(page, "{{data}}", json_in_html(json));
  return page;
}

void write_report(const std::filesystem::path& file, const PlanView& view) {
  if (atomic_write(file, report(view))) return;
  throw ConfigError("can't write the report to " + file.string());
}

}  // namespace penstock::partition
