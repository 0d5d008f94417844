#include "runtime/checkpoint/remote/local_checkpoint.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/checkpoint_cache.h"
#include "runtime/checkpoint/remote/remote_checkpoints.h"
#include "runtime/checkpoint/remote/remote_run.h"
#include "runtime/data/remote/remote_url.h"
#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"

// The server is always asked for the manifest, which is small: it says which checkpoint a run's
// newest is, and that it is still there. A copy in the cache is named after the SHA-256 of URL and
// manifest. So another checkpoint never takes its place, whatever a server sends: the manifest's
// own hashes find damage, but someone who wants to can make two files of one XXH3.

namespace penstock::runtime {
namespace {

/// Returns the limits of the first requests, by which a wrong URL or key is told in seconds.
HttpOptions brief() {
  HttpOptions options;
  options.retries.seconds = 5;
  options.connect = std::chrono::seconds(5);
  return options;
}

/// Returns the limits of a download, which waits longer for a server that is away.
HttpOptions patient() {
  HttpOptions options;
  options.retries.seconds = 60;  // without a byte
  return options;
}

/// Runs `work`. A server's error becomes one of the checkpoint, on which exit codes depend.
template <class Work>
auto with_checkpoint_errors(const Work& work) -> decltype(work()) try {
  return work();
} catch (const StoreError& error) {
  throw CheckpointError(error.what());
}

std::string name_in_cache(const FoundCheckpoint& found) {
  constexpr std::size_t kDigits = 32;
  const std::string text = fmt::format("{}\n{}", found.url, found.text);
  return fmt::format("{}-{}", checkpoint_name(found.manifest.state.step),
                     sha256_hex(std::as_bytes(std::span(text))).substr(0, kDigits));
}

std::uint64_t bytes_of(const FoundCheckpoint& found) {
  std::uint64_t sum = found.text.size();
  for (const NamedFile& file : files_of(found.manifest)) sum += file.bytes.value_or(0);
  return sum;
}

/// Downloads a file, or what an interrupted download lacks of it.
void download(ObjectServers& servers, const std::string& url, const NamedFile& file,
              const std::filesystem::path& to) {
  constexpr std::uint64_t kMost = 256 << 20;  // of a model of pieces, whose size no manifest tells
  const auto object = servers.describe(url);
  if (!object) throw CheckpointError(fmt::format("{} is not there, but in the manifest", url));
  if (file.bytes && object->bytes != *file.bytes)
    throw CheckpointError(
        fmt::format("{} has {} bytes, but the manifest says {}", url, object->bytes, *file.bytes));
  if (!file.bytes && object->bytes > kMost)
    throw CheckpointError(fmt::format("{} has {} bytes, but a model of pieces may have {}", url,
                                      object->bytes, kMost));
  make_output(to.parent_path());
  servers.download(url, *object, {0, object->bytes}, to, std::filesystem::exists(to));
}

/// Downloads a checkpoint into a folder and verifies every byte. If that fails, the files go: they
/// are no beginning of a whole checkpoint.
void write_into(const std::filesystem::path& folder, const FoundCheckpoint& found) {
  ObjectServers servers(patient());
  for (const NamedFile& file : files_of(found.manifest))
    download(servers, url_in(found.url, file.name), file, folder / file.name);
  write_durably(folder / kManifestFile, found.text);
  try {
    Checkpoint(folder).verify();
  } catch (const CheckpointError& error) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    throw CheckpointError(fmt::format(
        "{} has arrived with other bytes than its manifest says: {}. It is damaged there, or "
        "something between changes it. Upload it anew, or name another checkpoint",
        found.url, error.what()));
  }
}

CheckpointPlace downloaded(const std::string& url, const CacheFolder& cache) {
  const CheckpointCache checkpoints(cache);
  const FoundCheckpoint found = RemoteCheckpoints(brief()).find(url);
  bool fresh = false;
  CachedCheckpoint cached = checkpoints.filled(
      {name_in_cache(found), bytes_of(found), [&](const std::filesystem::path& partial) {
         fresh = true;
         spdlog::info("{} ({}) is downloaded to {}", found.url,
                      bytes_text(static_cast<double>(bytes_of(found))),
                      partial.parent_path().string());
         write_into(partial, found);
       }});
  if (!fresh) spdlog::info("{} was downloaded before: {}", found.url, cached.folder.string());
  return {std::move(cached.folder), found.url, std::move(cached.in_use)};
}

}  // namespace

CheckpointPlace local_checkpoint(const std::filesystem::path& name, const CacheFolder& cache) {
  if (!is_remote_url(name.native())) return {checkpoint_folder(name)};
  return with_checkpoint_errors([&] { return downloaded(folder_url(name.string()), cache); });
}

std::vector<NamedCheckpoint> named_checkpoints(const std::filesystem::path& run) {
  std::vector<NamedCheckpoint> named;
  if (is_remote_url(run.native())) {
    const auto listed = with_checkpoint_errors(
        [&] { return RemoteCheckpoints(brief()).list(folder_url(run.string())); });
    for (const ListedCheckpoint& each : listed) named.push_back({each.step, each.url});
    return named;
  }
  const auto warn = [](const std::string& text) { spdlog::warn("{}", text); };
  for (const StoredCheckpoint& each : list_labelled(run, warn))
    named.push_back({each.step, each.folder});
  return named;
}

std::string metrics_of(const std::filesystem::path& run) try {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  if (!is_remote_url(run.native())) return read_file(run / kMetricsFile);
  const std::string url = url_in(folder_url(run.string()), kMetricsFile);
  return with_checkpoint_errors(
      [&] { return ObjectServers(brief()).read(url, kMost).value_or(""); });
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return {};
}

std::optional<BestCheckpoint> best_mark(const std::filesystem::path& run) {
  constexpr std::size_t kMost = 4096;
  if (!is_remote_url(run.native())) return best_checkpoint(run);
  const std::string url = url_in(folder_url(run.string()), kBestFile);
  const auto text = with_checkpoint_errors([&] { return ObjectServers(brief()).read(url, kMost); });
  return text ? std::optional(parse_best(url, *text)) : std::nullopt;
}

std::string with_remedy(const CheckpointPlace& place, const std::string& fault) {
  if (place.url.empty()) return fault;
  return fmt::format(
      "{}. This is the copy of {} in the cache, which all ranks of a job must see. If it is "
      "damaged, remove it, and it is downloaded again:\n  rm -r {}",
      fault, place.url, place.folder.string());
}

}  // namespace penstock::runtime
