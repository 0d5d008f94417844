#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file_handle.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// metrics.jsonl: one JSON object a line. A step's has the keys step, epoch, loss, loss_hex (the
/// same as a hexadecimal float), learning_rate, gradient_norm, audio_seconds_per_second, …; a
/// validation's has step and names that begin with validation_. A skipped step has skipped: true. A
/// number that is not finite, which JSON lacks, is null, and its loss_hex "nan", "inf" or "-inf".
class MetricsFile {
 public:
  using Note = std::function<void(const std::string&)>;

  /// Keeps the lines up to `last_step` and appends behind them; whatever a broken run wrote later
  /// goes. CheckpointError if the file can't be written. What the disk refuses later is kept, and
  /// written with the next line; `note` is told when that begins and when it ends.
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step, Note note = {});

  void write(const StepReport&);
  void write(const EvaluationReport&);

  /// Whether the lines that were kept have a validation of `last_step`.
  bool validated() const { return validated_; }

 private:
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
              const std::vector<std::string>& kept, Note note);
  void append(const std::string& line);

  bool validated_ = false;
  FileHandle file_;
  Note note_;
  std::string left_;  // what the file lacks
};

}  // namespace penstock::runtime
