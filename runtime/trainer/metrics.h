#pragma once

#include <filesystem>
#include <fstream>

#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// metrics.jsonl: one JSON object a line. A step's has the keys step, epoch, loss, loss_hex (the
/// same as a hexadecimal float), learning_rate, gradient_norm, audio_seconds_per_second, …; a
/// validation's has step and names that begin with validation_. A skipped step has skipped: true. A
/// number that is not finite, which JSON lacks, is null, and its loss_hex "nan", "inf" or "-inf".
class MetricsFile {
 public:
  /// Keeps the lines up to `last_step` and appends behind them; whatever a broken run wrote later
  /// goes. CheckpointError if the file can't be written.
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step);

  void write(const StepReport&);
  void write(const EvaluationReport&);

 private:
  void append(const std::string& line);

  std::filesystem::path file_;
  std::ofstream out_;
};

}  // namespace penstock::runtime
