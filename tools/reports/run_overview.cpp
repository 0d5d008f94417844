#include "tools/reports/run_overview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "base/table.h"
#include "runtime/supervisor/run_status.h"
#include "runtime/trainer/metric_record.h"
#include "tools/reports/training/incidents.h"

namespace penstock::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::streamoff kTail = 1 << 16;  // bytes of a file's end that are read
constexpr std::size_t kIncidents = 6;

/// Returns the end of a file; "" if it is missing.
std::string tail_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kTail));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the last lines of a file that are JSON objects; none if it is missing. A line may be cut
/// at the beginning of the tail, or while it is written.
std::vector<Json> last_objects(const std::filesystem::path& file) {
  std::istringstream in(tail_text(file));
  std::vector<Json> objects;
  for (std::string line; std::getline(in, line);)
    if (Json json = Json::parse(line, nullptr, false); json.is_object())
      objects.push_back(std::move(json));
  return objects;
}

std::string field_text(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

double number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

/// Returns the loss and error rate of a validation, and the rate of each of several manifests.
std::string validation_lines(const Json& json) {
  std::string lines = fmt::format("validation            step {}: loss {:.3f}, WER {:.2f} %\n",
                                  field_text(json, "step"), number_in(json, "validation_loss"),
                                  100 * number_in(json, "validation_wer"));
  for (const Json& part : json.value("validation_manifests", Json::array()))
    if (part.contains("wer"))
      lines += fmt::format("                      {}: WER {:.2f} %\n", field_text(part, "manifest"),
                           100 * number_in(part, "wer"));
  return lines;
}

/// Returns the last step's loss and speed, the last validation, and why the run ended early if its
/// last line says so.
std::string training_lines(const std::vector<Json>& metrics) {
  std::string step, validation, end;
  for (const Json& json : metrics) {
    end.clear();
    if (json.contains(runtime::kEarlyEndKey))
      end = fmt::format("ended early           {}\n", field_text(json, runtime::kEarlyEndKey));
    if (json.contains("validation_wer"))
      validation = validation_lines(json);
    else if (json.contains("loss"))
      step = fmt::format("last step             loss {:.3f}, {:.0f} s of audio a second\n",
                         number_in(json, "loss"), number_in(json, "audio_seconds_per_second"));
  }
  return step + validation + end;
}

std::string rank_table(const runtime::RunStatus& status, std::size_t columns) {
  if (status.ranks.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"rank", "host", "stage", "step", "busy s", "planned s", "doing"}};
  for (const runtime::RankActivity& rank : status.ranks)
    rows.push_back({fmt::format("{}", rank.rank), rank.host, fmt::format("{}", rank.stage),
                    fmt::format("{}", rank.step), fmt::format("{:.3f}", rank.busy_s),
                    fmt::format("{:.3f}", rank.planned_busy_s), rank.action});
  return '\n' + table_text(rows, columns);
}

std::string incident_lines(const std::vector<RunIncident>& incidents) {
  std::string lines;
  const std::size_t first = incidents.size() > kIncidents ? incidents.size() - kIncidents : 0;
  for (std::size_t i = first; i < incidents.size(); ++i)
    lines += fmt::format("{} {}: {}\n", incidents[i].time, incidents[i].kind, incidents[i].message);
  return lines.empty() ? "" : "\n" + lines;
}

std::optional<runtime::RunStatus> status_in(const std::filesystem::path& output) try {
  const std::filesystem::path file = output / runtime::kStatusFile;
  return runtime::parse_status(read_file(file), file.string());
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return std::nullopt;
}

}  // namespace

std::string run_overview(const std::filesystem::path& output, std::size_t columns) {
  const auto status = status_in(output);
  const std::vector<Json> metrics = last_objects(output / "metrics.jsonl");
  if (!status && metrics.empty())
    throw CheckpointError(
        fmt::format("{} holds no run: name a trainer.output in which penstock run or train works",
                    output.string()));
  if (!status)
    return fmt::format("step                  {} (no supervisor: penstock run gives more)\n{}",
                       field_text(metrics.back(), "step"), training_lines(metrics));
  const double share = status->steps > 0 ? 100.0 * status->step / status->steps : 0;
  const double trained = status->up_s > 0 ? 100 * status->trained_s / status->up_s : 0;
  std::string text = fmt::format(
      "state                 {}, incarnation {}, {}, {}\n"
      "step                  {} of {} ({:.0f} %), newest checkpoint {}\n"
      "layout                {} × {} on {}\n"
      "time                  {}, of which {:.1f} % in steps\n",
      status->state, status->incarnation, counted(status->restarts, "restart"),
      counted(status->hangs, "hang"), status->step, status->steps, share, status->checkpoint,
      counted(status->stages, "stage"), counted(status->replicas, "replica"),
      fmt::join(status->hosts, ", "), seconds_text(status->up_s), trained);
  return text + training_lines(metrics) + rank_table(*status, columns) +
         incident_lines(parse_incidents(tail_text(output / runtime::kIncidentsFile)));
}

}  // namespace penstock::tools
