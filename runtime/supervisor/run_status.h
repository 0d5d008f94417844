#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/activity.h"

namespace penstock::runtime {

// A supervisor writes three files into the output folder: `incidents.jsonl`, a line for each event
// of the run; `status.json`, its state now; and `metrics.prom`, the same numbers in Prometheus'
// text format for a node exporter's textfile collector. The last two are replaced atomically.

/// An event in the life of a supervised run.
struct Incident {
  std::string kind = {};  // "start", "restart", "failure", "hang", "straggler", "resize", …
  std::int64_t incarnation = 0, step = 0;
  int rank = -1;  // -1: none in particular
  std::string host = {};
  std::optional<int> code = {};
  std::string message = {};
};

/// Appends the incident, with the time, as a line of incidents.jsonl. FileError on failure.
void append_incident(const std::filesystem::path& output, const Incident& incident);

struct RunStatus {
  std::string state = "starting";  // starting, running, stopping, pausing, waiting, ended
  std::int64_t incarnation = 0, step = 0, steps = 0, checkpoint = 0;
  int stages = 0, replicas = 0, restarts = 0, hangs = 0, stragglers = 0;
  std::vector<std::string> hosts = {};
  double up_s = 0, trained_s = 0;  // since the supervisor's start; of that, in steps
  std::string last_incident = {};
  std::vector<RankActivity> ranks = {};
};

/// Returns the status as the JSON of status.json, and as Prometheus' text.
[[nodiscard]] std::string status_json(const RunStatus& status);
[[nodiscard]] std::string prometheus_text(const RunStatus& status);

/// Parses status.json. CheckpointError, which names `source`, if it is damaged.
[[nodiscard]] RunStatus parse_status(std::string_view text, const std::string& source);

/// Replaces status.json and metrics.prom. A write that fails is skipped; the next one follows soon.
void write_status(const std::filesystem::path& output, const RunStatus& status);

inline constexpr const char* kStatusFile = "status.json";
inline constexpr const char* kIncidentsFile = "incidents.jsonl";

}  // namespace penstock::runtime
