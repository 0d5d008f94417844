#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::tools {

/// A step of a training, as metrics.jsonl records it. A number that is not finite is NaN.
struct StepRecord {
  std::int64_t step = 0, epoch = 0;
  double loss = 0, learning_rate = 0, gradient_norm = 0;
  double audio_seconds = 0, step_seconds = 0;
  bool skipped = false;

  /// Returns the seconds of audio that were trained in a second.
  double speed() const { return audio_seconds / step_seconds; }
};

/// A validation of a training. A number that is not finite is NaN; rates are fractions.
struct ValidationRecord {
  std::int64_t step = 0;
  double loss = 0, wer = 0, cer = 0;
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
