#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/file_stamp.h"
#include "runtime/data/lengths.h"

namespace penstock::runtime {

/// A recording whose length is sought.
struct RecordingQuery {
  std::string path;          // as key_of() has it
  FileStamp stamp = {};      // when it was measured
  PackedLength length = {};  // that it had then; not known: it is measured in any case
};

struct RecordingAnswer {
  FileStamp stamp = {};
  PackedLength length = {};  // not known: it can't be used
  std::string fault = {};    // why
};

struct RecordingMeasure {
  std::filesystem::path folder;  // that paths start from
  int threads = 0;               // 0: as many as the process has cores
  bool decode = false;           // all audio, whatever headers tell
};

/// Of each query; those which time did not suffice for have none.
using RecordingAnswers = std::vector<std::optional<RecordingAnswer>>;

/// Looks at recordings for some seconds, and at the first in any case. One that has not changed
/// keeps its length.
[[nodiscard]] RecordingAnswers measure_recordings(std::span<const RecordingQuery> queries,
                                                  const RecordingMeasure& options);

/// Who answers: this process as above, or ranks of a job for it.
using Measure = std::function<RecordingAnswers(std::span<const RecordingQuery>)>;

}  // namespace penstock::runtime
