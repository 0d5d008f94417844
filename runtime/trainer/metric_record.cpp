#include "runtime/trainer/metric_record.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace penstock::runtime {
namespace {

std::string hexadecimal(double value) {
  if (std::isnan(value)) return "nan";  // printf writes "-nan" for some
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);  // fmt writes other digits
  return text;
}

}  // namespace

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
  return {{"step", r.step},
          {"validation_loss", r.loss},
          {"validation_wer", r.wer},
          {"validation_cer", r.cer},
          {"validation_utterances", r.utterances},
          {"validation_skipped_utterances", r.skipped},
          {"validation_seconds", r.seconds}};
}

}  // namespace penstock::runtime
