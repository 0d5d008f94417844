#include "runtime/trainer/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "base/atomic_file.h"
#include "base/file_handle.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(double value) {
  if (std::isnan(value)) return "nan";  // printf writes "-nan" for some
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);  // fmt writes other digits
  return text;
}

// Returns true for lines of steps up to `last_step`. A line that does not parse was cut off when a
// run ended, and is dropped.
bool belongs_to(const std::string& line, std::int64_t last_step) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("step") && json["step"].is_number_integer() &&
         json["step"].get<std::int64_t>() <= last_step;
}

bool is_validation(const std::string& line, std::int64_t step) {
  const Json json = Json::parse(line);
  return json["step"].get<std::int64_t>() == step && json.contains("validation_wer");
}

/// Returns no lines if the file is missing. If it exists but cannot be read, throws, since its
/// lines would be lost.
std::vector<std::string> lines_to_keep(const std::filesystem::path& file,
                                       std::int64_t last_step) try {
  std::vector<std::string> kept;
  std::istringstream in(read_file(file));
  for (std::string line; std::getline(in, line);)
    if (belongs_to(line, last_step)) kept.push_back(line);
  return kept;
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return {};
}

/// Replaces the file by these lines and opens it for appending.
FileHandle rewritten(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  AtomicFile fresh(file, ".new");
  for (const std::string& line : lines) fresh.write(line + '\n');
  fresh.commit(Flush::none);
  return FileHandle(file, O_WRONLY | O_APPEND);
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last_step, Note note)
    : MetricsFile(file, last_step, lines_to_keep(file, last_step), std::move(note)) {}

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
                         const std::vector<std::string>& kept, Note note)
    : validated_(std::ranges::any_of(
          kept, [&](const std::string& line) { return is_validation(line, last_step); })),
      file_(rewritten(file, kept)),
      note_(std::move(note)) {}

// Appends a line after those that could not be written before. write() shortens `bytes` to what is
// missing, so a line that was cut in the middle goes on there.
void MetricsFile::append(const std::string& line) {
  const bool lacked = !left_.empty();
  left_ += line + '\n';
  std::span<const std::byte> bytes = std::as_bytes(std::span(left_));
  std::string fault;
  try {
    file_.write(bytes);
  } catch (const FileError& error) {
    fault = error.what();
  }
  left_.erase(0, left_.size() - bytes.size());
  if (!note_ || lacked == !left_.empty()) return;
  note_(lacked ? fmt::format("{} has all lines again", file_.path().string())
               : fmt::format("{}. Its lines are kept until it can", fault));
}

void MetricsFile::write(const StepReport& r) {
  Json json{{"step", r.step},
            {"epoch", r.epoch},
            {"loss", r.loss},
            {"loss_hex", hexadecimal(r.loss)},
            {"learning_rate", r.learning_rate},
            {"gradient_norm", r.gradient_norm},
            {"utterances", r.utterances},
            {"audio_seconds", r.audio_seconds},
            {"audio_seconds_per_second", r.audio_seconds_per_second()},
            {"step_seconds", r.step_seconds}};
  if (r.loss_scale != 1) json["loss_scale"] = r.loss_scale;
  if (r.skipped) json["skipped"] = true;
  if (r.failed_utterances > 0) json["failed_utterances"] = r.failed_utterances;
  append(json.dump());
}

void MetricsFile::write(const EvaluationReport& r) {
  append(Json{{"step", r.step},
              {"validation_loss", r.loss},
              {"validation_wer", r.wer},
              {"validation_cer", r.cer},
              {"validation_utterances", r.utterances},
              {"validation_skipped_utterances", r.skipped},
              {"validation_seconds", r.seconds}}
             .dump());
}

}  // namespace penstock::runtime
