#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/index/file_stamp.h"
#include "runtime/data/index/lengths.h"

namespace penstock::runtime {

class RemoteFiles;

/// Asks for the length of a recording.
struct RecordingQuery {
  std::string path;          // as key_of() returns it
  FileStamp stamp = {};      // its stamp when it was last measured
  PackedLength length = {};  // its length then; unknown: it is measured in any case
};

struct RecordingAnswer {
  FileStamp stamp = {};
  PackedLength length = {};  // unknown: the recording can't be used
  std::string fault = {};    // reason, if it can't be used
};

struct RecordingMeasure {
  std::filesystem::path folder;  // base of relative paths
  int threads = 0;               // 0: as many as the process has cores
  bool decode = false;           // decodes all audio and ignores headers
  RemoteFiles* files = nullptr;  // opens what lies on servers
};

/// One answer per query; nothing for a query that the time did not suffice for.
using RecordingAnswers = std::vector<std::optional<RecordingAnswer>>;

/// Measures recordings for some seconds, and at least the first. An unchanged recording keeps its
/// length. StoreError if a server fails.
[[nodiscard]] RecordingAnswers measure_recordings(std::span<const RecordingQuery> queries,
                                                  const RecordingMeasure& options);

/// Answers queries, in this process as above or by the ranks of a job.
using Measure = std::function<RecordingAnswers(std::span<const RecordingQuery>)>;

}  // namespace penstock::runtime
