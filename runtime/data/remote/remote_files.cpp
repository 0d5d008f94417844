#include "runtime/data/remote/remote_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quantities.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/manifest/shard_pattern.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_url.h"
#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"

// An object is described by its server once in a run, before its first use. Afterwards it must stay
// the same: its size and ETag are compared when it is downloaded again. A whole file of the cache
// with the object's stamp needs no download.
//
// A tar is fetched whole where its members are listed and measured, since every one of them is
// read. In training, utterances are drawn from all tars at random. If the tar is not in the cache
// then, the bytes of the member and the header before it are fetched alone, as a tar of one member,
// so an epoch downloads no byte twice however small the cache is.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTarHeader = 512;
constexpr const char* kListings = "listings";

/// Returns the parts of a place in the mirror that name server and bucket.
fs::path server(const fs::path& place) {
  auto part = place.begin();
  const fs::path scheme = part == place.end() ? fs::path() : *part++;
  return part == place.end() ? scheme : scheme / *part;
}

}  // namespace

/// A connection that no other thread uses meanwhile.
class RemoteFiles::Connection {
 public:
  explicit Connection(RemoteFiles& files) : files_(files) {
    const std::lock_guard lock(files_.mutex_);
    patient_ = files_.answered_;
    if (files_.idle_.empty()) {
      const RemoteFilesOptions& options = files_.options_;
      servers_ = std::make_unique<ObjectServers>(patient_ ? options.later : options.first);
    } else {
      servers_ = std::move(files_.idle_.back());
      files_.idle_.pop_back();
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    const std::lock_guard lock(files_.mutex_);
    if (patient_) files_.idle_.push_back(std::move(servers_));
  }

  ObjectServers* operator->() { return servers_.get(); }
  void has_answered() {
    const std::lock_guard lock(files_.mutex_);
    files_.answered_ = true;
  }

 private:
  RemoteFiles& files_;
  bool patient_ = false;
  std::unique_ptr<ObjectServers> servers_;
};

RemoteFiles::RemoteFiles(RemoteFilesOptions options)
    : options_(std::move(options)),
      cache_(options_.cache.empty() ? fs::path() : options_.cache / "remote", options_.bytes) {}

fs::path RemoteFiles::path(const std::string& name) const {
  if (!is_remote_url(name)) return name;
  if (cache_.folder().empty() || cache_.limit() == 0)
    throw ConfigError(
        fmt::format("{}: data from a server need a folder on this machine: name one "
                    "in data.cache, or set HOME, and set data.cache_gib above 0",
                    without_query(name)));
  return cache_.folder() / mirrored_path(name);
}

fs::path RemoteFiles::path(const fs::path& folder, const std::string& name) const {
  return is_remote_url(name) ? path(name) : folder / name;
}

fs::path RemoteFiles::located(const fs::path& manifest, const fs::path& file) const {
  const std::string url(url_within(file.native()));
  const bool remote = holds(manifest);
  if (url.empty() && (!remote || on_same_server(file, manifest))) return file;
  if (url.empty())
    throw DataError(
        fmt::format("names {}, a file of this machine: a manifest of a server may name "
                    "files of {} and URLs alone",
                    file.string(), name(manifest.parent_path())));
  fs::path place;
  try {
    place = path(url);
  } catch (const ConfigError& error) {
    throw DataError(error.what());
  }
  if (remote && url.starts_with("http://") && !on_same_server(place, manifest))
    throw DataError(fmt::format(
        "names {}, a server of this machine: a manifest of another server may not", url));
  return place;
}

std::string RemoteFiles::name(const fs::path& path) const {
  return holds(path) ? url(path) : path.string();
}

std::string RemoteFiles::with_names(const std::string& message) const {
  return cache_.folder().empty() ? message : with_urls(message, cache_.folder());
}

bool RemoteFiles::holds(const fs::path& path) const {
  const std::string& folder = cache_.folder().native();
  return !folder.empty() && path.native().size() > folder.size() &&
         path.native().starts_with(folder) && path.native()[folder.size()] == '/';
}

bool RemoteFiles::on_same_server(const fs::path& a, const fs::path& b) const {
  const auto place = [&](const fs::path& path) {
    return server(path.lexically_normal().lexically_relative(cache_.folder()));
  };
  return holds(a.lexically_normal()) && holds(b.lexically_normal()) && place(a) == place(b);
}

std::string RemoteFiles::url(const fs::path& file) const {
  return mirrored_url(file.lexically_normal().native().substr(cache_.folder().native().size() + 1));
}

void RemoteFiles::remember(const fs::path& file, const Seen& seen) {
  make_cache({.path = options_.cache});
  cache_.note(file, seen.stamp);
  const std::lock_guard lock(mutex_);
  seen_[hash_of(file.native())] = seen;
}

/// Returns the object of a file as this run sees it; nothing if there is none.
std::optional<RemoteFiles::Seen> RemoteFiles::seen(const fs::path& file) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = seen_.find(hash_of(file.native()));
    if (known != seen_.end()) return known->second;
  }
  Connection connection(*this);
  const auto object = connection->describe(url(file));
  connection.has_answered();
  if (!object) return std::nullopt;
  const Seen seen{stamp_of(*object), std::make_shared<const RemoteObject>(*object)};
  remember(file, seen);
  return seen;
}

/// Returns what was seen, with the object's description.
RemoteFiles::Seen RemoteFiles::described(const fs::path& file, const Seen& before) {
  if (before.object) return before;
  Connection connection(*this);
  const auto object = connection->describe(url(file));
  if (!object || stamp_of(*object) != before.stamp)
    throw StoreError(StoreError::Kind::changed,
                     fmt::format("{} is another object than was listed", name(file)));
  const Seen now{before.stamp, std::make_shared<const RemoteObject>(*object)};
  const std::lock_guard lock(mutex_);
  return seen_[hash_of(file.native())] = now;
}

bool RemoteFiles::look_up(const fs::path& file) { return !holds(file) || seen(file).has_value(); }

fs::path RemoteFiles::listing(const fs::path& folder) const {
  return cache_.folder() / kListings / fmt::format("{:016x}", hash_of(folder.native()));
}

bool RemoteFiles::is_listing(const fs::path& file) const {
  return file.parent_path() == cache_.folder() / kListings;
}

LocalFile RemoteFiles::open_manifest(const std::string& path_or_url) {
  const fs::path manifest = path(path_or_url);
  if (!holds(manifest)) return {manifest};
  if (const auto found = seen(manifest)) return fetch(manifest, *found);
  if (list(manifest)) return {manifest};
  const bool pattern = is_shard_pattern(path_or_url);
  throw DataError(fmt::format("manifest {}: no such object{}{}", name(manifest),
                              is_store_url(url(manifest)) ? " or folder" : "",
                              pattern
                                  ? ". A pattern stands for several files of this machine alone: "
                                    "name the folder that holds them"
                                  : ""));
}

/// Gives the files below a folder the names, sizes and times of the objects there, and removes
/// others. Returns false if there are no objects.
bool RemoteFiles::list(const fs::path& folder) {
  if (!is_store_url(url(folder))) return false;
  std::vector<ListedRemote> listed;
  {
    Connection connection(*this);
    listed = connection->list(url(folder));
  }
  std::set<fs::path> there;
  std::string all;
  for (const ListedRemote& each : listed) {
    if (each.name.ends_with('/')) continue;
    const fs::path file = path(url(folder) + "/" + each.name);
    remember(file, {stamp_of(each.object)});
    all += fmt::format("{}\n{}\n", each.name, each.object.etag);
    there.insert(file);
  }
  std::error_code error;
  for (fs::recursive_directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error))
    if (!item->is_directory() && !there.contains(item->path())) fs::remove(item->path());
  if (there.empty()) return false;
  cache_.note(listing(folder), stamp_of({.bytes = there.size(), .etag = all}));
  return true;
}

LocalFile RemoteFiles::open(const fs::path& recording, TarPart part) {
  if (!holds(recording)) return {recording};
  const fs::path file = file_holding(recording);
  const auto found = seen(file);
  if (!found) throw DataError(fmt::format("{}: no such object", name(file)));
  try {
    return open_seen(recording, *found, part);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::changed) throw;
    throw StoreError(
        error.kind(),
        fmt::format("{} has changed since this run saw it first: start the run again", name(file)));
  }
}

LocalFile RemoteFiles::open_seen(const fs::path& recording, const Seen& seen, TarPart part) {
  const fs::path file = file_holding(recording);
  if (auto in_use = cache_.open(file, seen.stamp)) return {recording, std::move(in_use)};
  if (file != recording && part == TarPart::member)
    return open_member(recording, described(file, seen));
  LocalFile fetched = fetch(file, seen);
  fetched.path = recording;
  return fetched;
}

LocalFile RemoteFiles::open_member(const fs::path& recording, const Seen& seen) {
  const TarMember member = tar_member(recording.native()).value();
  const std::int64_t begin = member.first - kTarHeader, end = member.first + member.bytes;
  if (!seen.object->ranges || begin < 0 || end > seen.stamp.bytes) {
    LocalFile fetched = fetch(member.tar, seen);
    fetched.path = recording;
    return fetched;
  }
  const std::string object =
      fmt::format("{}\n{}\n{}", recording.string(), seen.stamp.bytes, seen.stamp.changed);
  const fs::path part = cache_.part(fmt::format("{:016x}.tar", hash_of(object)));
  const FileStamp stamp{end - begin, seen.stamp.changed};
  FileHandle in_use = cache_.filled(
      part, stamp, {[&](const fs::path& partial) {
        Connection connection(*this);
        connection->download(url(member.tar), *seen.object,
                             {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)},
                             partial, false);
      }});
  return {path_of({part, kTarHeader, member.bytes, member.name}), std::move(in_use)};
}

/// Downloads a whole object unless it is in the cache. If its ETag is its MD5, then the bytes are
/// verified, and what an interrupted process has left is continued.
LocalFile RemoteFiles::fetch(const fs::path& file, const Seen& before) {
  if (auto in_use = cache_.open(file, before.stamp)) return {file, std::move(in_use)};
  const Seen seen = described(file, before);
  const RemoteObject& object = *seen.object;
  const bool verified = object.etag_is_md5 && object.etag.find('-') == std::string::npos;
  const auto write = [&](const fs::path& partial) {
    Connection connection(*this);
    for (const bool resumes : {true, false}) {
      connection->download(url(file), object, {0, object.bytes}, partial, resumes);
      if (!verified || to_hex(md5(map_file(partial).raw())) == object.etag) return;
    }
    throw StoreError(StoreError::Kind::refused,
                     fmt::format("{} arrives with other bytes than its ETag says: something "
                                 "between changes them",
                                 name(file)));
  };
  return {file, cache_.filled(file, seen.stamp, {write, verified})};
}

std::shared_ptr<RemoteFiles> remote_files(const configs::DataConfig& data) {
  RemoteFilesOptions options{.cache = cache_folder(data.cache).path,
                             .bytes = static_cast<std::uint64_t>(data.cache_gib * kGib)};
  options.first.retries.seconds = 5;
  options.first.connect = std::chrono::seconds(5);
  options.later.retries.seconds = 60;  // without a byte
  return std::make_shared<RemoteFiles>(std::move(options));
}

LocalFile open_by(RemoteFiles* files, const fs::path& file, TarPart part) {
  return files == nullptr ? LocalFile{file} : files->open(file, part);
}

}  // namespace penstock::runtime
