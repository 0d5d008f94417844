#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trainer/transcribe.h"

namespace penstock::tools {

/// Where the recordings of a list come from, in this order.
struct RecordingSources {
  std::vector<std::string> recordings = {};
  std::vector<std::string> manifests = {};  // JSON lines, texts or none
  std::istream* paths = nullptr;            // a path between two separators
  char separator = '\n';
};

/// Recordings one after the other: nothing of the list is kept.
class RecordingList {
 public:
  explicit RecordingList(RecordingSources sources) : sources_(std::move(sources)) {}

  /// The next one; nothing at the end. A line of a manifest that is none has a fault. DataError if
  /// a manifest can't be read.
  std::optional<runtime::Recording> next();

 private:
  std::optional<runtime::Recording> next_line();
  std::optional<runtime::Recording> next_path();

  RecordingSources sources_;
  std::size_t recording_ = 0, manifest_ = 0;  // the next ones
  std::ifstream file_;                        // of the manifest before `manifest_`
  std::size_t line_ = 0;
};

/// Of recordings in their order, one by one: "" for none, then that of those before and the next.
[[nodiscard]] std::string chained_hash(const std::string& before,
                                       const runtime::Recording& recording);

}  // namespace penstock::tools
