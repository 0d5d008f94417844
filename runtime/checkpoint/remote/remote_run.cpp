#include "runtime/checkpoint/remote/remote_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/file_handle.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/store/store_error.h"
#include "runtime/store/transfer.h"

// A run in a store has these objects:
//
//   RUN/checkpoint-000000600-5f3a9c1e/stage-0.safetensors, …   the files of a checkpoint
//   RUN/checkpoint-000000600-5f3a9c1e/manifest.json            written last: now it exists
//   RUN/LATEST                                                 name of the newest
//   RUN/BEST, RUN/metrics.jsonl, RUN/events.out.tfevents.…     copies of the output folder's
//
// The name holds 8 digits of the manifest's hash, and the manifest holds the hashes of all files.
// So a key stands for certain bytes: writing it twice, or by two runs, changes nothing, and
// whatever is there under it with the right size need not be sent again. A store writes an object
// whole or not at all. Therefore any sequence of cuts leaves either no manifest, or one whose files
// are there.
//
// Removal is the reverse: the manifest goes first. A listing may be stale. It decides nothing that
// could lose a checkpoint: what it does not name is left alone, and before files without a manifest
// are removed, the store is asked for the manifest itself.

namespace penstock::runtime {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::size_t kDigits = 8;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Returns the checkpoint that a folder of the store is named after, or nothing.
std::optional<RemoteCheckpoint> parse_name(std::string_view name) {
  if (name.size() < kDigits + 1 || name[name.size() - kDigits - 1] != '-') return std::nullopt;
  const auto step = step_of_checkpoint(name.substr(0, name.size() - kDigits - 1));
  if (!step) return std::nullopt;
  return RemoteCheckpoint{*step, std::string(name)};
}

bool by_age(const RemoteCheckpoint& a, const RemoteCheckpoint& b) {
  return std::pair(a.step, a.committed) < std::pair(b.step, b.committed);
}

/// The objects of a checkpoint's folder in a listing.
struct ListedFolder {
  std::vector<std::string> keys;
  std::string committed = {};  // time of the manifest; "" if there is none
};

/// Groups the objects below `run` by the name of their folder.
std::map<std::string, ListedFolder> folders_in(const std::vector<StoredObject>& objects,
                                               const std::string& run) {
  std::map<std::string, ListedFolder> folders;
  for (const StoredObject& object : objects) {
    const std::string rest = object.key.substr(run.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) continue;
    ListedFolder& folder = folders[rest.substr(0, slash)];
    folder.keys.push_back(object.key);
    if (rest.substr(slash + 1) == kManifestFile) folder.committed = object.modified;
  }
  return folders;
}

}  // namespace

std::vector<NamedFile> files_of(const Manifest& manifest) {
  std::vector<NamedFile> files;
  for (const ShardIndex& shard : manifest.shards) files.push_back({shard.file, shard.bytes});
  for (const KeptFile& kept : manifest.files) files.push_back({kept.file, kept.bytes});
  if (!manifest.state.tokenizer_hash.empty()) files.push_back({kTokenizerFile, std::nullopt});
  return files;
}

RemoteCheckpoint remote_checkpoint(const Manifest& manifest, std::string_view text) {
  const std::int64_t step = manifest.state.step;
  return {step, fmt::format("{}-{}", checkpoint_name(step), xxh3_128(text).substr(0, kDigits))};
}

RemoteRun::RemoteRun(const StoreUrl& url, const HttpOptions& options)
    : url_(url), store_(url, find_settings(url), options) {}

std::string RemoteRun::key(const std::string& name) const {
  return url_.key.empty() ? name : fmt::format("{}/{}", url_.key, name);
}

std::string RemoteRun::key(const RemoteCheckpoint& checkpoint, const std::string& file) const {
  return key(fmt::format("{}/{}", checkpoint.name, file));
}

void RemoteRun::probe() {
  const std::string probe = key(".probe");
  store_.probe(url_.key);
  store_.put(probe, bytes_of("written to see whether penstock can write here\n"));
  store_.remove(probe);
}

std::vector<RemoteCheckpoint> RemoteRun::list() {
  std::vector<RemoteCheckpoint> found;
  for (const auto& [name, folder] : folders_in(store_.list(key(std::string(kPrefix))), key("")))
    if (auto checkpoint = parse_name(name); checkpoint && !folder.committed.empty()) {
      checkpoint->committed = folder.committed;
      found.push_back(std::move(*checkpoint));
    }
  const auto latest = parse_name(store_.get(key(kLatestObject)).value_or(""));
  const bool listed =
      !latest || std::ranges::any_of(found, [&](const auto& c) { return c.name == latest->name; });
  if (!listed && manifest(*latest)) found.push_back(*latest);
  std::ranges::sort(found, by_age);
  return found;
}

std::optional<std::string> RemoteRun::manifest(const RemoteCheckpoint& checkpoint) {
  return store_.get(key(checkpoint, kManifestFile));
}

RemoteCheckpoint RemoteRun::upload(const std::filesystem::path& folder,
                                   const std::function<void(std::uint64_t)>& progress) {
  const std::string text = read_file(folder / kManifestFile);
  const Manifest manifest = read_manifest(folder);
  RemoteCheckpoint checkpoint = remote_checkpoint(manifest, text);
  if (this->manifest(checkpoint) == text) return checkpoint;
  for (const NamedFile& file : files_of(manifest)) {
    const std::string target = key(checkpoint, file.name);
    const std::uint64_t bytes = std::filesystem::file_size(folder / file.name);
    const auto there = store_.head(target);
    if (there && there->bytes == bytes)
      progress(bytes);
    else
      upload_file(store_, target, folder / file.name, {.progress = progress});
  }
  commit(checkpoint, text);
  return checkpoint;
}

// The store may have the manifest already, if the answer to an earlier attempt was lost.
void RemoteRun::commit(const RemoteCheckpoint& checkpoint, const std::string& text) {
  (void)store_.put_new(key(checkpoint, kManifestFile), bytes_of(text));
  if (manifest(checkpoint) != text)
    throw StoreError(StoreError::Kind::refused,
                     fmt::format("{}: the store has another manifest than was uploaded",
                                 store_.text(key(checkpoint, kManifestFile))));
  store_.put(key(kLatestObject), bytes_of(checkpoint.name));
}

void RemoteRun::remove_old(const RemoteRetention& retention) {
  const RemoteCheckpoint& own = retention.uploaded;
  const auto folders = folders_in(store_.list(key(std::string(kPrefix))), key(""));
  std::vector<RemoteCheckpoint> committed;
  for (const auto& [name, folder] : folders)
    if (auto each = parse_name(name); each && !folder.committed.empty() && each->step <= own.step) {
      each->committed = folder.committed;
      if (each->name != own.name) committed.push_back(std::move(*each));
    }
  std::ranges::sort(committed, by_age);
  std::set<std::string> kept = {own.name};
  for (auto each = committed.rbegin(); each != committed.rend(); ++each)
    if (std::ssize(kept) < retention.keep || each->step == retention.best) kept.insert(each->name);
  for (const auto& [name, folder] : folders) {
    const auto each = parse_name(name);
    if (!each || each->step > own.step || kept.contains(name)) continue;
    if (folder.committed.empty() && manifest(*each)) continue;  // the listing is stale
    remove(name, folder.keys);
  }
  for (const OpenUpload& upload : store_.open_uploads(key(std::string(kPrefix)))) {
    const std::string rest = upload.key.substr(key("").size());
    const auto each = parse_name(rest.substr(0, rest.find('/')));
    if (each && each->step <= own.step) store_.discard(upload);
  }
}

void RemoteRun::remove(const std::string& name, const std::vector<std::string>& keys) {
  store_.remove(key(fmt::format("{}/{}", name, kManifestFile)));
  for (const std::string& each : keys) store_.remove(each);
}

}  // namespace penstock::runtime
