#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/store/s3_store.h"

namespace penstock::runtime {

/// kLatestObject is the object of a run that holds the name of its newest checkpoint.
inline constexpr const char* kLatestObject = "LATEST";

/// A checkpoint of a run in a store, known by its name alone: "checkpoint-000000600-5f3a9c1e".
struct RemoteCheckpoint {
  std::int64_t step = 0;
  std::string name;
  std::string committed = {};  // time of the manifest in a listing; "" if it was not listed
  bool operator==(const RemoteCheckpoint&) const = default;
};

/// A file that a manifest names.
struct NamedFile {
  std::string name;
  std::optional<std::uint64_t> bytes;  // unknown for the model of pieces
};
/// Returns the files of a checkpoint, without the manifest itself.
[[nodiscard]] std::vector<NamedFile> files_of(const Manifest& manifest);

/// Returns the name under which a store holds a checkpoint with this manifest: its step, and the
/// first digits of the text's hash. So an object of a checkpoint never changes its bytes.
[[nodiscard]] RemoteCheckpoint remote_checkpoint(const Manifest& manifest, std::string_view text);

/// Says which checkpoints a store keeps after that of `step` was uploaded.
struct RemoteRetention {
  int keep = 1;  // newest up to that step, itself included
  RemoteCheckpoint uploaded;
  std::optional<std::int64_t> best = {};  // this step stays too
};

/// A run's checkpoints in an object store. All methods throw StoreError; those that read local
/// files also throw FileError and CheckpointError.
class RemoteRun {
 public:
  /// Finds server and keys as find_settings() does.
  explicit RemoteRun(const StoreUrl& url, const HttpOptions& options = {});
  RemoteRun(const StoreUrl& url, S3Store store) : url_(url), store_(std::move(store)) {}

  /// Throws unless objects can be listed, written and removed there.
  void probe();

  /// Returns the committed checkpoints by step and time. Listings may be stale, so the one that the
  /// object LATEST names is there too, and some may be gone.
  [[nodiscard]] std::vector<RemoteCheckpoint> list();
  /// Returns the text of a checkpoint's manifest, or nothing if it is gone.
  [[nodiscard]] std::optional<std::string> manifest(const RemoteCheckpoint& checkpoint);

  /// Uploads the checkpoint in a folder, its manifest last. What is there already is not sent
  /// again. `progress` is called with the bytes of each part.
  RemoteCheckpoint upload(const std::filesystem::path& folder,
                          const std::function<void(std::uint64_t)>& progress);
  /// Removes older checkpoints, and what uploads that died have left.
  void remove_old(const RemoteRetention& retention);

  [[nodiscard]] std::string key(const std::string& name) const;
  [[nodiscard]] std::string key(const RemoteCheckpoint& checkpoint, const std::string& file) const;
  S3Store& store() { return store_; }
  [[nodiscard]] std::string text() const { return url_.text(); }

 private:
  void commit(const RemoteCheckpoint& checkpoint, const std::string& text);
  void remove(const std::string& name, const std::vector<std::string>& keys);

  StoreUrl url_;
  S3Store store_;
};

}  // namespace penstock::runtime
