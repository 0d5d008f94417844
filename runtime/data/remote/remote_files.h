#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_handle.h"
#include "configs/config.h"
#include "runtime/data/remote/object_cache.h"
#include "runtime/data/remote/object_server.h"

namespace penstock::runtime {

/// A file on this machine that can be read. If it is of the cache, it stays until `in_use` ends.
struct LocalFile {
  std::filesystem::path path;  // or a TarMember
  std::optional<FileHandle> in_use = {};
};

/// How much of a tar is fetched for one of its members.
enum class TarPart { whole, member };

struct RemoteFilesOptions {
  std::filesystem::path cache;  // folder; "": URLs can't be read
  std::uint64_t bytes = 0;      // limit of what is downloaded
  HttpOptions first = {};       // until a server has answered: wrong names are told in seconds
  HttpOptions later = {};
};

/// Opens files of object stores and web servers by paths. Each URL has a place in a mirror below
/// the cache, so manifests, folders, tars and indexes need not know of URLs: they handle paths, and
/// who reads the bytes of one opens it here. Paths outside the mirror pass as they are.
///
/// Threads share it. FileError if the cache is full. DataError if there is no such object.
/// StoreError if a server can't be reached, refuses, or has another object than before in the life
/// of this object.
class RemoteFiles {
 public:
  explicit RemoteFiles(RemoteFilesOptions options);

  /// Returns the path of a URL, or `name` if it is none. "s3://bucket/a.tar:NAME" is a member of a
  /// tar. ConfigError like mirrored_path(), or if there is no cache.
  [[nodiscard]] std::filesystem::path path(const std::string& name) const;
  /// Returns the path of what an index or a manifest calls `name`, seen from `folder`.
  [[nodiscard]] std::filesystem::path path(const std::filesystem::path& folder,
                                           const std::string& name) const;
  /// Returns the path of a file that a manifest names. `file` is joined to a folder, as
  /// "folder/a.wav" or "folder/s3://bucket/a.wav". DataError if a manifest of a server names a file
  /// of this machine, leaves its server or bucket without a URL, or names another server as
  /// http://, which can only be one of this machine.
  [[nodiscard]] std::filesystem::path located(const std::filesystem::path& manifest,
                                              const std::filesystem::path& file) const;
  /// Returns the URL of a path in the mirror, and others as they are.
  [[nodiscard]] std::string name(const std::filesystem::path& path) const;
  /// Returns a message with URLs for paths in the mirror.
  [[nodiscard]] std::string with_names(const std::string& message) const;
  /// Returns true if the path lies in the mirror.
  [[nodiscard]] bool holds(const std::filesystem::path& path) const;
  /// Returns true if both lie on the same server and, in an object store, in the same bucket.
  [[nodiscard]] bool on_same_server(const std::filesystem::path& a,
                                    const std::filesystem::path& b) const;

  /// Opens a manifest by its path or URL, which may be a folder of an object store: its files then
  /// have their names, sizes and times. The server is asked whether anything has changed.
  [[nodiscard]] LocalFile open_manifest(const std::string& manifest);
  /// Returns a file whose stamp changes whenever objects of that folder do.
  [[nodiscard]] std::filesystem::path listing(const std::filesystem::path& folder) const;

  /// Returns true for what listing() returns.
  [[nodiscard]] bool is_listing(const std::filesystem::path& file) const;
  /// Returns the limit of what is downloaded, in bytes.
  std::uint64_t limit() const { return cache_.limit(); }

  /// Gives a file the size and time that it has on its server. Returns false if it is not there.
  /// The server is asked once.
  bool look_up(const std::filesystem::path& file);

  /// Opens a file or a member of a tar. What is not in the cache is downloaded.
  [[nodiscard]] LocalFile open(const std::filesystem::path& recording,
                               TarPart part = TarPart::whole);

 private:
  class Connection;
  struct Seen {
    FileStamp stamp = {};
    std::shared_ptr<const RemoteObject> object = {};  // null if it was only listed
  };

  std::string url(const std::filesystem::path& file) const;
  std::optional<Seen> seen(const std::filesystem::path& file);
  Seen described(const std::filesystem::path& file, const Seen& before);
  void remember(const std::filesystem::path& file, const Seen& seen);
  bool list(const std::filesystem::path& folder);
  LocalFile open_member(const std::filesystem::path& recording, const Seen& seen);
  LocalFile fetch(const std::filesystem::path& file, const Seen& seen);
  LocalFile open_seen(const std::filesystem::path& recording, const Seen& seen, TarPart part);

  RemoteFilesOptions options_;
  ObjectCache cache_;
  std::mutex mutex_;  // guards what follows
  bool answered_ = false;
  std::vector<std::unique_ptr<ObjectServers>> idle_;
  std::unordered_map<std::uint64_t, Seen> seen_;  // by the hash of the path
};

/// Returns the files that a recipe's keys describe: data.cache and data.cache_gib.
[[nodiscard]] std::shared_ptr<RemoteFiles> remote_files(const configs::DataConfig& data = {});

/// Opens a file by `files`, or as it is if there are none.
[[nodiscard]] LocalFile open_by(RemoteFiles* files, const std::filesystem::path& file,
                                TarPart part = TarPart::whole);

}  // namespace penstock::runtime
