#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file_handle.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// The file metrics.jsonl, with one JSON object per line. The line of a step has the keys step,
/// epoch, loss, loss_hex (the same as a hexadecimal float), learning_rate, gradient_norm,
/// audio_seconds_per_second, …. The line of a validation has step and keys that begin with
/// validation_. A skipped step has skipped: true. JSON has no infinities and NaNs, so such a number
/// is null, and loss_hex is "nan", "inf" or "-inf".
class MetricsFile {
 public:
  using Note = std::function<void(const std::string&)>;

  /// Keeps the lines up to `last_step`, drops the later ones of an interrupted run, and appends
  /// after them. CheckpointError if the file cannot be written. If a later write fails, the lines
  /// are buffered and written with the next one. `note` logs the first such failure and the
  /// recovery.
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step, Note note = {});

  void write(const StepReport&);
  void write(const EvaluationReport&);

  /// True if the kept lines include a validation of `last_step`.
  bool validated() const { return validated_; }

 private:
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
              const std::vector<std::string>& kept, Note note);
  void append(const std::string& line);

  bool validated_ = false;
  FileHandle file_;
  Note note_;
  std::string left_;  // lines that are not written yet
};

}  // namespace penstock::runtime
