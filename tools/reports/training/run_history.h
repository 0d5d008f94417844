#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::tools {

/// A step of a training, as metrics.jsonl records it. A number that is not finite is NaN, and one
/// that the record lacks is empty.
struct StepRecord {
  std::int64_t step = 0, epoch = 0;
  std::optional<double> loss = {}, learning_rate = {}, gradient_norm = {};
  std::optional<double> audio_seconds = {}, step_seconds = {};
  bool skipped = false;

  /// Returns the seconds of audio that were trained in a second.
  std::optional<double> speed() const {
    if (!audio_seconds || !step_seconds) return std::nullopt;
    return *audio_seconds / *step_seconds;
  }
};

/// A manifest of a validation, where data.validation names several.
struct ManifestRecord {
  std::string manifest = {};
  std::optional<double> wer = {};  // a fraction; empty: no utterance was judged
};

/// A validation of a training. A number that is not finite is NaN, and one that the record lacks is
/// empty. Rates are fractions.
struct ValidationRecord {
  std::int64_t step = 0;
  std::optional<double> loss = {}, wer = {}, cer = {};
  std::vector<ManifestRecord> manifests = {};
};

/// The course of a training, by its metrics.jsonl.
struct RunHistory {
  std::vector<StepRecord> steps = {};              // steps ascend
  std::vector<ValidationRecord> validations = {};  // steps ascend
  std::string early_end = {};                      // why the run ended early; "" if it did not
  std::int64_t failed_utterances = 0;
  std::int64_t repeated = 0;     // lines of steps that later lines replaced
  std::int64_t not_records = 0;  // lines that are no records of a training
  bool torn = false;             // the last line was cut off

  bool empty() const { return steps.empty() && validations.empty(); }
};

/// Parses the text of a metrics.jsonl. Where a run wrote a step again, its last record counts, and
/// those of later steps before it are dropped, as a run drops them when it resumes. Lines that are
/// no records are left out and counted, but for a last one without its end of line, which a run
/// that was killed leaves. Takes O(text).
[[nodiscard]] RunHistory parse_history(std::string_view text);

}  // namespace penstock::tools
