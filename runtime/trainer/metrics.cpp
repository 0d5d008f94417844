#include "runtime/trainer/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(double value) {
  if (std::isnan(value)) return "nan";  // without the sign that printf gives some
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);  // fmt writes other digits
  return text;
}

// A line that does not parse was cut off by the run's end.
bool belongs_to(const std::string& line, std::int64_t last_step) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("step") && json["step"].is_number_integer() &&
         json["step"].get<std::int64_t>() <= last_step;
}

std::vector<std::string> lines_to_keep(const std::filesystem::path& file, std::int64_t last_step) {
  std::vector<std::string> kept;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (belongs_to(line, last_step)) kept.push_back(line);
  return kept;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last_step) : file_(file) {
  const std::vector<std::string> kept = lines_to_keep(file, last_step);
  const std::filesystem::path fresh = file.string() + ".new";
  {
    std::ofstream rewritten(fresh, std::ios::trunc);
    for (const std::string& line : kept) rewritten << line << '\n';
    rewritten.flush();
    if (!rewritten) throw CheckpointError("can't write " + fresh.string());
  }
  std::error_code error;
  std::filesystem::rename(fresh, file, error);
  if (error)
    throw CheckpointError(fmt::format("can't write {}: {}", file.string(), error.message()));
  out_.open(file, std::ios::app);
  if (!out_) throw CheckpointError("can't append to " + file.string());
}

void MetricsFile::append(const std::string& line) {
  out_ << line << '\n' << std::flush;
  if (!out_)
    throw CheckpointError(fmt::format("can't append to {}: is its disk full?", file_.string()));
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
