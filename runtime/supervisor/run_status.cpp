#include "runtime/supervisor/run_status.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <span>

#include "base/atomic_file.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string dump_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// Returns the time as "2026-11-28T15:04:05Z".
std::string time_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json rank_json(const RankActivity& a) {
  return {{"rank", a.rank},       {"stage", a.stage},   {"replica", a.replica},
          {"host", a.host},       {"step", a.step},     {"doing", describe(a)},
          {"seconds", a.seconds}, {"busy_s", a.busy_s}, {"planned_busy_s", a.planned_busy_s}};
}

/// A number in Prometheus' text format, with its help and type.
struct Metric {
  const char *name, *type, *help;
  double value;
};

}  // namespace

void append_incident(const std::filesystem::path& output, const Incident& incident) {
  Json json{{"time", time_now()},
            {"kind", incident.kind},
            {"incarnation", incident.incarnation},
            {"step", incident.step}};
  if (incident.rank >= 0) json["rank"] = incident.rank;
  if (!incident.host.empty()) json["host"] = incident.host;
  if (incident.code) json["code"] = *incident.code;
  json["message"] = incident.message;
  const FileHandle file(output / kIncidentsFile, O_WRONLY | O_CREAT | O_APPEND);
  const std::string line = dump_line(json);
  auto bytes = std::as_bytes(std::span(line));
  file.write(bytes);
}

std::string status_json(const RunStatus& s) {
  Json json{{"state", s.state},
            {"incarnation", s.incarnation},
            {"step", s.step},
            {"steps", s.steps},
            {"checkpoint", s.checkpoint},
            {"stages", s.stages},
            {"replicas", s.replicas},
            {"restarts", s.restarts},
            {"hangs", s.hangs},
            {"stragglers", s.stragglers},
            {"hosts", s.hosts},
            {"up_s", s.up_s},
            {"trained_s", s.trained_s},
            {"last_incident", s.last_incident},
            {"ranks", Json::array()}};
  for (const RankActivity& rank : s.ranks) json["ranks"].push_back(rank_json(rank));
  return dump_line(json);
}

RunStatus parse_status(std::string_view text, const std::string& source) try {
  const Json json = Json::parse(text);
  RunStatus s;
  s.state = json.at("state");
  s.incarnation = json.at("incarnation");
  s.step = json.at("step");
  s.steps = json.at("steps");
  s.checkpoint = json.at("checkpoint");
  s.stages = json.at("stages");
  s.replicas = json.at("replicas");
  s.restarts = json.at("restarts");
  s.hangs = json.at("hangs");
  s.stragglers = json.at("stragglers");
  s.hosts = json.at("hosts").get<std::vector<std::string>>();
  s.up_s = json.at("up_s");
  s.trained_s = json.at("trained_s");
  s.last_incident = json.at("last_incident");
  for (const Json& rank : json.at("ranks")) {
    RankActivity& a = s.ranks.emplace_back();
    a.rank = rank.at("rank");
    a.stage = rank.at("stage");
    a.replica = rank.at("replica");
    a.host = rank.at("host");
    a.step = rank.at("step");
    a.action = rank.at("doing");
    a.seconds = rank.at("seconds");
    a.busy_s = rank.at("busy_s");
    a.planned_busy_s = rank.at("planned_busy_s");
  }
  return s;
} catch (const Json::exception& error) {
  throw_fault(source, fmt::format("is no status of a run: {}", error.what()));
}

std::string prometheus_text(const RunStatus& s) {
  const bool running = s.state == "running";
  const Metric metrics[] = {
      {"penstock_up", "gauge", "1 while ranks train.", running ? 1.0 : 0.0},
      {"penstock_step", "gauge", "Steps done.", static_cast<double>(s.step)},
      {"penstock_steps", "gauge", "Step at which the run ends.", static_cast<double>(s.steps)},
      {"penstock_checkpoint_step", "gauge", "Step of the newest checkpoint.",
       static_cast<double>(s.checkpoint)},
      {"penstock_ranks", "gauge", "Ranks of the current layout.",
       static_cast<double>(s.stages * s.replicas)},
      {"penstock_incarnation", "counter", "Starts of the run.", static_cast<double>(s.incarnation)},
      {"penstock_restarts_total", "counter", "Restarts by this supervisor.",
       static_cast<double>(s.restarts)},
      {"penstock_hangs_total", "counter", "Hangs that were found.", static_cast<double>(s.hangs)},
      {"penstock_stragglers_total", "counter", "Stragglers that were found.",
       static_cast<double>(s.stragglers)},
      {"penstock_up_seconds_total", "counter", "Seconds since the supervisor's start.", s.up_s},
      {"penstock_trained_seconds_total", "counter", "Seconds of those in steps.", s.trained_s}};
  std::string text;
  for (const Metric& m : metrics)
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3:.12g}\n", m.name, m.help, m.type,
                        m.value);
  text +=
      "# HELP penstock_rank_busy_seconds Computing time of the rank's last step.\n"
      "# TYPE penstock_rank_busy_seconds gauge\n";
  for (const RankActivity& rank : s.ranks)
    text += fmt::format("penstock_rank_busy_seconds{{rank=\"{}\",stage=\"{}\"}} {:.12g}\n",
                        rank.rank, rank.stage, rank.busy_s);
  return text;
}

void write_status(const std::filesystem::path& output, const RunStatus& status) {
  (void)atomic_write(output / kStatusFile, status_json(status));
  (void)atomic_write(output / "metrics.prom", prometheus_text(status));
}

}  // namespace penstock::runtime
