#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/trainer/appended_file.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// The file metrics.jsonl, with one JSON object per line, which metric_line() makes.
class MetricsFile {
 public:
  using Note = AppendedFile::Note;

  /// Keeps the lines up to `last_step`, drops the later ones of an interrupted run, and appends
  /// after them. FileError if the file cannot be written. A later failure is as AppendedFile's,
  /// which `note` logs.
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step, Note note = {});

  void write(const StepReport&);
  void write(const EvaluationReport&);

  /// True if the kept lines include a validation of `last_step`.
  bool validated() const { return validated_; }

 private:
  MetricsFile(const std::filesystem::path& file, std::int64_t last_step,
              const std::vector<std::string>& kept, Note note);

  bool validated_ = false;
  AppendedFile file_;
};

}  // namespace penstock::runtime
