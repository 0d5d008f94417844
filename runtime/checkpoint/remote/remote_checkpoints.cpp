#include "runtime/checkpoint/remote/remote_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/name_match.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_run.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/data/remote/remote_url.h"
#include "runtime/store/store_error.h"

// A URL may name three things, which are tried in this order: BEST of a run, a checkpoint's folder,
// a run's folder. What tells them apart is which object is there, manifest.json or others, since
// folders do not exist on servers.
//
// A store says 403 instead of 404 to whoever may read objects but not list them. So an object that
// is denied counts as missing while another may be there, and the denial is told if none is. A
// listing may be stale or forbidden, and web servers have none. Therefore the object LATEST, which
// names the newest, is read as well.

namespace penstock::runtime {
namespace {

constexpr std::size_t kManifestBytes = 256 << 20;
constexpr std::size_t kNameBytes = 4096;  // of LATEST and BEST
constexpr const char* kNamePrefix = "checkpoint-";

std::string_view last_part(std::string_view url) { return url.substr(url.rfind('/') + 1); }

/// Returns the folder that a URL lies in, or "" for a bucket or a server.
std::string parent_of(const std::string& url) {
  const std::size_t slash = url.rfind('/');
  return url[slash - 1] == '/' ? std::string() : url.substr(0, slash);
}

/// Returns the step of "checkpoint-000000600-5f3a9c1e", as stores hold it, and of
/// "checkpoint-000000600", as output folders do.
std::optional<std::int64_t> step_in(std::string_view name) {
  const std::size_t prefix = std::string_view(kNamePrefix).size();
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  return step_of_checkpoint(name.substr(0, name.find('-', prefix)));
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

/// Returns the run's checkpoints in a list of its objects: folders with a manifest.
std::vector<ListedCheckpoint> committed(const std::vector<StoredObject>& objects,
                                        const std::string& run) {
  std::vector<ListedCheckpoint> found;
  const std::string end = fmt::format("/{}", kManifestFile);
  const std::string key = parse_store_url(run).key;
  for (const StoredObject& object : objects) {
    std::string_view name = object.key;
    if (!name.ends_with(end)) continue;
    name.remove_suffix(end.size());
    name.remove_prefix(key.empty() ? 0 : key.size() + 1);
    if (const auto step = step_in(name); step && name.find('/') == std::string_view::npos)
      found.push_back({*step, url_in(run, std::string(name)), object.modified});
  }
  std::ranges::sort(found, {}, [](const ListedCheckpoint& each) {
    return std::tie(each.step, each.modified, each.url);
  });
  return found;
}

/// Runs `read`. Returns nothing if the server denies what it asks for, and keeps the reason.
template <class Read>
auto unless_denied(std::optional<StoreError>& denial, const Read& read) -> decltype(read()) try {
  return read();
} catch (const StoreError& error) {
  if (error.kind() != StoreError::Kind::denied) throw;
  if (!denial) denial = error;
  return {};
}

}  // namespace

std::string folder_url(const std::string& url) {
  std::string whole = mirrored_url(mirrored_path(url));
  if (!is_store_url(whole) && whole.find('?') != std::string::npos)
    throw ConfigError(
        fmt::format("{}: a query belongs to one file, but a checkpoint has several: name its "
                    "folder, which must be readable without a query",
                    without_query(whole)));
  return whole;
}

std::string url_in(const std::string& url, const std::string& file) {
  return fmt::format("{}/{}", url, is_store_url(url) ? file : escaped(file, true));
}

std::optional<FoundCheckpoint> RemoteCheckpoints::at(const std::string& url) {
  auto text = servers_.read(url_in(url, kManifestFile), kManifestBytes);
  if (!text) return std::nullopt;
  try {
    Manifest manifest = parse_manifest(*text);
    return FoundCheckpoint{url, std::move(*text), std::move(manifest)};
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("{}: {}", url_in(url, kManifestFile), error.what()));
  }
}

std::vector<ListedCheckpoint> RemoteCheckpoints::list(const std::string& run) {
  std::optional<StoreError> denial;
  std::vector<ListedCheckpoint> found;
  if (is_store_url(run))
    found = unless_denied(denial, [&] {
      const std::string prefix = url_in(run, kNamePrefix);
      return committed(servers_.store(run).list(parse_store_url(prefix).key), run);
    });
  const auto latest =
      unless_denied(denial, [&] { return servers_.read(url_in(run, kLatestObject), kNameBytes); });
  const std::string name(first_line(latest.value_or("")));
  const std::string url = url_in(run, name);
  if (const auto step = step_in(name);
      step && std::ranges::find(found, url, &ListedCheckpoint::url) == found.end() &&
      unless_denied(denial, [&] { return at(url); }))
    found.push_back({*step, url});
  if (found.empty() && denial) throw StoreError(*denial);
  std::ranges::stable_sort(found, {}, &ListedCheckpoint::step);
  return found;
}

// A checkpoint in the list may be gone by now.
std::optional<FoundCheckpoint> RemoteCheckpoints::newest(const std::string& run) {
  for (const ListedCheckpoint& each : list(run) | std::views::reverse)
    if (auto found = at(each.url)) return found;
  return std::nullopt;
}

// The mark names a step, and the listing its folder.
std::optional<FoundCheckpoint> RemoteCheckpoints::best(const std::string& mark) {
  const auto text = servers_.read(mark, kNameBytes);
  if (!text) return std::nullopt;
  const std::int64_t step = parse_best(mark, *text).step;
  const std::string run = parent_of(mark);
  for (const ListedCheckpoint& each : list(run) | std::views::reverse)
    if (each.step == step)
      if (auto found = at(each.url)) return found;
  if (auto copied = at(url_in(run, checkpoint_name(step)))) return copied;
  throw CheckpointError(fmt::format("{} names the checkpoint of step {}, which is not there{}",
                                    mark, step, nearest_to(url_in(run, checkpoint_name(step)))));
}

FoundCheckpoint RemoteCheckpoints::find(const std::string& url) {
  std::optional<StoreError> denial;
  if (last_part(url) == kBestFile)
    if (auto found = unless_denied(denial, [&] { return best(url); })) return std::move(*found);
  if (auto found = unless_denied(denial, [&] { return at(url); })) return std::move(*found);
  if (auto found = unless_denied(denial, [&] { return newest(url); })) return std::move(*found);
  if (denial) throw StoreError(*denial);
  if (is_store_url(url))
    throw CheckpointError(
        fmt::format("{}: no checkpoint is there: neither {} nor folders checkpoint-…{}", url,
                    kManifestFile, nearest_to(url)));
  throw CheckpointError(
      fmt::format("{}: no checkpoint is there: neither {} nor {}, a file that names a run's newest",
                  url, kManifestFile, kLatestObject));
}

/// Returns the end of a message that names what lies nearest: a checkpoint beside `url`, or a
/// folder there with a similar name. Returns "" if nothing does.
std::string RemoteCheckpoints::nearest_to(const std::string& url) try {
  const std::string parent = parent_of(url);
  if (parent.empty()) return "";
  const std::string_view name = last_part(url);
  const auto step = step_in(name);
  if (std::vector<ListedCheckpoint> beside = list(parent); !beside.empty()) {
    const auto found = std::ranges::min_element(beside, {}, [&](const ListedCheckpoint& each) {
      return step ? std::llabs(each.step - *step) : -each.step;
    });
    return fmt::format(". The {} is\n  {}", step ? "nearest" : "newest beside it", found->url);
  }
  if (!is_store_url(url)) return "";
  const std::string key = parse_store_url(parent).key;
  const std::vector<std::string> names =
      servers_.store(parent).folders(key.empty() ? "" : fmt::format("{}/", key));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string meant = nearest(name, views);
  return meant.empty() ? "" : fmt::format(". A similar name is\n  {}", url_in(parent, meant));
} catch (const Error&) {
  return "";  // what lies beside can't be listed or is damaged
}

}  // namespace penstock::runtime
