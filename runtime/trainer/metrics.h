#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/trainer/appended_file.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Says which lines of metrics.jsonl a run keeps that goes on from a checkpoint.
struct KeptLines {
  std::int64_t last_step = 0;   // step of the checkpoint
  bool last_validation = true;  // false: that of `last_step` will be made again
};

/// The file metrics.jsonl, with one JSON object per line, which metric_line() makes.
class MetricsFile {
 public:
  using Note = AppendedFile::Note;

  /// Keeps the lines up to `last_step`, drops the later ones of an interrupted run and the line of
  /// an early end, and appends after them. FileError if the file cannot be written. A later failure
  /// is as AppendedFile's, which `note` logs.
  MetricsFile(const std::filesystem::path& file, KeptLines kept, Note note = {});

  void write(const StepReport&);
  void write(const EvaluationReport&);
  void write(const EarlyEnd&);

  /// True if the kept lines include a validation of `last_step`.
  bool validated() const { return validated_; }

 private:
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
              const std::vector<std::string>& lines, Note note);

  bool validated_ = false;
  AppendedFile file_;
};

}  // namespace penstock::runtime
