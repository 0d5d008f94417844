#include "runtime/trainer/metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/atomic_file.h"
#include "runtime/trainer/metric_record.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

bool is_validation(const Json& json, std::int64_t step) {
  return json["step"].get<std::int64_t>() == step && json.contains("validation_wer");
}

/// Returns true for a line to keep. A line that does not parse was cut off when a run ended. A run
/// that goes on has not ended early; one that does not writes that line again.
bool is_kept(const std::string& line, KeptLines kept) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("step") && json["step"].is_number_integer() &&
         json["step"].get<std::int64_t>() <= kept.last_step && !json.contains(kEarlyEndKey) &&
         (kept.last_validation || !is_validation(json, kept.last_step));
}

/// Returns no lines if the file is missing. If it exists but cannot be read, throws, since its
/// lines would be lost.
std::vector<std::string> lines_to_keep(const std::filesystem::path& file,
                                       KeptLines kept_lines) try {
  std::vector<std::string> kept;
  std::istringstream in(read_file(file));
  for (std::string line; std::getline(in, line);)
    if (is_kept(line, kept_lines)) kept.push_back(line);
  return kept;
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return {};
}

/// Replaces the file by these lines. Returns its path.
const std::filesystem::path& rewritten(const std::filesystem::path& file,
                                       const std::vector<std::string>& lines) {
  AtomicFile fresh(file, ".new");
  for (const std::string& line : lines) fresh.write(line + '\n');
  fresh.commit(Flush::none);
  return file;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& file, KeptLines kept, Note note)
    : MetricsFile(file, kept.last_step, lines_to_keep(file, kept), std::move(note)) {}

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
                         const std::vector<std::string>& lines, Note note)
    : validated_(std::ranges::any_of(
          lines,
          [&](const std::string& line) { return is_validation(Json::parse(line), last_step); })),
      file_(rewritten(file, lines), 0, "lines", std::move(note)) {}

void MetricsFile::write(const StepReport& report) { file_.append(metric_line(report) + '\n'); }

void MetricsFile::write(const EvaluationReport& report) {
  file_.append(metric_line(report) + '\n');
}

void MetricsFile::write(const EarlyEnd& end) { file_.append(metric_line(end) + '\n'); }

}  // namespace penstock::runtime
