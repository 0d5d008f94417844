#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/data/remote/object_server.h"

namespace penstock::runtime {

/// A checkpoint on a server, known by its name alone.
struct ListedCheckpoint {
  std::int64_t step = 0;
  std::string url;            // of its folder
  std::string modified = {};  // time of its manifest in a listing; "" if it was not listed
};

/// A checkpoint on a server, by its manifest.
struct FoundCheckpoint {
  std::string url;   // of its folder
  std::string text;  // of its manifest
  Manifest manifest;
};

/// Finds checkpoints on servers by URLs: s3:// and gs://, and https:// as far as that needs no
/// list. All methods throw StoreError, and CheckpointError for what is damaged.
class RemoteCheckpoints {
 public:
  explicit RemoteCheckpoints(const HttpOptions& options) : servers_(options) {}

  /// Finds the checkpoint that a URL names: a checkpoint's folder; a run's, whose newest checkpoint
  /// is taken; or a run's BEST. CheckpointError if there is none, with the nearest that there is.
  [[nodiscard]] FoundCheckpoint find(const std::string& url);

  /// Returns a run's checkpoints, oldest first. Besides what trainer.mirror has written, these may
  /// be copies of local folders. A web server tells the newest alone, by the object LATEST.
  [[nodiscard]] std::vector<ListedCheckpoint> list(const std::string& run);

 private:
  std::optional<FoundCheckpoint> at(const std::string& url);
  std::optional<FoundCheckpoint> newest(const std::string& run);
  std::optional<FoundCheckpoint> best(const std::string& mark);
  std::string nearest_to(const std::string& url);

  ObjectServers servers_;
};

/// Returns the URL without a slash at its end. ConfigError if it has a query, or if
/// mirrored_path() refuses it.
[[nodiscard]] std::string folder_url(const std::string& url);

/// Returns the URL of a file in the folder of `url`.
[[nodiscard]] std::string url_in(const std::string& url, const std::string& file);

}  // namespace penstock::runtime
