#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/remote/remote_files.h"
#include "runtime/recognise/transcribe.h"

namespace penstock::tools {

/// Sources of a list's recordings, in this order.
struct RecordingSources {
  std::vector<std::string> recordings = {};
  std::vector<std::string> manifests = {};  // JSON lines, with or without texts, or their URLs
  std::istream* paths = nullptr;            // paths, ended by `separator`
  char separator = '\n';
};

/// Reads recordings one after the other; it keeps none of them.
class RecordingList {
 public:
  explicit RecordingList(RecordingSources sources) : sources_(std::move(sources)) {}

  /// Returns the next recording, or nothing at the end. A broken line of a manifest gives a
  /// recording with a fault. DataError if a manifest can't be read.
  std::optional<runtime::Recording> next();

 private:
  std::optional<runtime::Recording> next_line();
  std::optional<runtime::Recording> next_path();

  RecordingSources sources_;
  std::shared_ptr<runtime::RemoteFiles> files_ = runtime::remote_files();
  std::optional<runtime::LocalFile> local_ = {};  // the manifest that is being read
  std::size_t recording_ = 0, manifest_ = 0;      // indexes of the next ones
  std::ifstream file_;                            // manifest number `manifest_` - 1
  std::size_t line_ = 0;
};

/// Returns a hash of recordings in their order, computed one by one: `before` is "" at the start,
/// then the hash of all recordings before `recording`.
[[nodiscard]] std::string chained_hash(const std::string& before,
                                       const runtime::Recording& recording);

}  // namespace penstock::tools
