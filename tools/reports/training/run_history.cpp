#include "tools/reports/training/run_history.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json_nesting.h"
#include "runtime/trainer/metric_record.h"

namespace penstock::tools {
namespace {

using MetricJson = nlohmann::json;

/// Returns a number, NaN where metrics.jsonl has null, or nothing where it lacks the key.
std::optional<double> number_at(const MetricJson& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  return std::numeric_limits<double>::quiet_NaN();
}

std::int64_t count_at(const MetricJson& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

StepRecord step_record(const MetricJson& record) {
  const auto skipped = record.find("skipped");
  return {.step = count_at(record, "step"),
          .epoch = count_at(record, "epoch"),
          .loss = number_at(record, "loss"),
          .learning_rate = number_at(record, "learning_rate"),
          .gradient_norm = number_at(record, "gradient_norm"),
          .audio_seconds = number_at(record, "audio_seconds"),
          .step_seconds = number_at(record, "step_seconds"),
          .skipped = skipped != record.end() && *skipped == true};
}

/// Returns the manifests of a validation. Elements without a name are left out.
std::vector<ManifestRecord> manifest_records(const MetricJson& record) {
  std::vector<ManifestRecord> manifests;
  const auto found = record.find("validation_manifests");
  if (found == record.end() || !found->is_array()) return manifests;
  for (const MetricJson& each : *found) {
    if (!each.is_object()) continue;
    const auto name = each.find("manifest");
    if (name != each.end() && name->is_string())
      manifests.push_back({.manifest = name->get<std::string>(), .wer = number_at(each, "wer")});
  }
  return manifests;
}

ValidationRecord validation_record(const MetricJson& record) {
  return {.step = count_at(record, "step"),
          .loss = number_at(record, "validation_loss"),
          .wer = number_at(record, "validation_wer"),
          .cer = number_at(record, "validation_cer"),
          .manifests = manifest_records(record)};
}

/// Appends a record after dropping those of its step and of later ones. Returns how many it drops.
template <typename Record>
std::int64_t append(std::vector<Record>& records, const Record& record) {
  std::int64_t dropped = 0;
  for (; !records.empty() && records.back().step >= record.step; ++dropped) records.pop_back();
  records.push_back(record);
  return dropped;
}

/// Adds a line. Returns false if it is no record of a training.
bool add_line(RunHistory& history, std::string_view line) {
  if (json_nests_too_deeply(line)) return false;
  const MetricJson record = MetricJson::parse(line, nullptr, false);
  if (!record.is_object() || count_at(record, "step") < 1) return false;
  history.early_end.clear();
  if (const auto reason = record.find(runtime::kEarlyEndKey); reason != record.end()) {
    if (reason->is_string()) history.early_end = reason->get<std::string>();
    return reason->is_string();
  }
  if (record.contains("validation_loss")) {
    history.repeated += append(history.validations, validation_record(record));
    return true;
  }
  if (!record.contains("loss")) return false;
  history.repeated += append(history.steps, step_record(record));
  history.failed_utterances =
      std::max(history.failed_utterances, count_at(record, "failed_utterances"));
  while (!history.validations.empty() &&
         history.validations.back().step > history.steps.back().step) {
    history.validations.pop_back();
    ++history.repeated;
  }
  return true;
}

}  // namespace

RunHistory parse_history(std::string_view text) {
  RunHistory history;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.empty() || add_line(history, line)) {
      // An empty line says nothing.
    } else if (end == std::string_view::npos) {
      history.torn = true;
    } else {
      ++history.not_records;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return history;
}

}  // namespace penstock::tools
