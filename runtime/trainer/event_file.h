#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trainer/appended_file.h"
#include "runtime/trainer/event_record.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// An EventStart holds what an EventFile records of the start of a run.
struct EventStart {
  std::int64_t last_step = 0;  // of the checkpoint; 0: a new run
  std::string recipe = {};     // shown as text
};

/// A file for TensorBoard, with the numbers of metric_scalars() at each step. Their tags are the
/// keys of metrics.jsonl in groups: train/loss, train/learning_rate, validation/wer, ….
///
/// A file is never changed but at its end, since TensorBoard follows it. So each start of a run
/// writes a file of its own, whose name sorts after those of earlier starts. It begins with a mark
/// at which TensorBoard drops what those have of steps after the checkpoint.
class EventFile {
 public:
  /// Creates the file in `folder`. FileError if that fails. A later failure is as AppendedFile's.
  EventFile(const std::filesystem::path& folder, const EventStart& start,
            AppendedFile::Note note = {});

  void write(const StepReport&);
  void write(const EvaluationReport&);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append(std::string_view event) { file_.append(framed(event)); }

  AppendedFile file_;
};

/// Returns the event files of an output folder in the order of their names, which is that of the
/// starts. FileError if the folder can't be read.
[[nodiscard]] std::vector<std::filesystem::path> list_event_files(
    const std::filesystem::path& folder);

}  // namespace penstock::runtime
