#include "runtime/trainer/metric_record.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::runtime {
namespace {

constexpr std::string_view kValidation = "validation_";

std::string hexadecimal(double value) {
  if (std::isnan(value)) return "nan";  // printf writes "-nan" for some
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);  // fmt writes other digits
  return text;
}

nlohmann::ordered_json metric_record(const StepReport& r) {
  nlohmann::ordered_json record{{"step", r.step},
                                {"epoch", r.epoch},
                                {"loss", r.loss},
                                {"loss_hex", hexadecimal(r.loss)},
                                {"learning_rate", r.learning_rate},
                                {"gradient_norm", r.gradient_norm},
                                {"utterances", r.utterances},
                                {"audio_seconds", r.audio_seconds},
                                {"audio_seconds_per_second", r.audio_seconds_per_second()},
                                {"step_seconds", r.step_seconds}};
  if (r.loss_scale != 1) record["loss_scale"] = r.loss_scale;
  if (r.skipped) record["skipped"] = true;
  if (r.failed_utterances > 0) record["failed_utterances"] = r.failed_utterances;
  return record;
}

nlohmann::ordered_json metric_record(const EvaluationReport& r) {
  nlohmann::ordered_json record{{"step", r.step},
                                {"validation_loss", r.loss},
                                {"validation_wer", r.wer},
                                {"validation_cer", r.cer},
                                {"validation_utterances", r.utterances},
                                {"validation_skipped_utterances", r.skipped},
                                {"validation_seconds", r.seconds}};
  for (const PartReport& part : r.parts) {
    nlohmann::ordered_json one{{"manifest", part.manifest}, {"utterances", part.utterances}};
    if (part.utterances > 0) one.update({{"wer", part.wer}, {"cer", part.cer}});
    record["validation_manifests"].push_back(std::move(one));
  }
  return record;
}

std::string tag_of_key(const std::string& key) {
  return key.starts_with(kValidation) ? "validation/" + key.substr(kValidation.size())
                                      : "train/" + key;
}

/// Returns all numbers of a record, without those of its parts. Its text loss_hex is none.
std::vector<EventScalar> scalars_in(const nlohmann::ordered_json& record) {
  std::vector<EventScalar> scalars;
  for (const auto& [key, value] : record.items()) {
    if (key == "step" || value.is_string() || value.is_array()) continue;
    const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
    scalars.emplace_back(tag_of_key(key), number);
  }
  return scalars;
}

}  // namespace

std::string metric_line(const StepReport& report) { return metric_record(report).dump(); }
std::string metric_line(const EvaluationReport& report) { return metric_record(report).dump(); }

std::string metric_line(const EarlyEnd& end) {
  return nlohmann::ordered_json{{"step", end.step}, {kEarlyEndKey, end.reason}}.dump();
}

std::vector<EventScalar> metric_scalars(const StepReport& report) {
  return scalars_in(metric_record(report));
}
std::vector<EventScalar> metric_scalars(const EvaluationReport& report) {
  std::vector<EventScalar> scalars = scalars_in(metric_record(report));
  for (const PartReport& part : report.parts) {
    if (part.utterances == 0) continue;
    scalars.emplace_back("validation/wer/" + part.manifest, part.wer);
    scalars.emplace_back("validation/cer/" + part.manifest, part.cer);
  }
  return scalars;
}

}  // namespace penstock::runtime
