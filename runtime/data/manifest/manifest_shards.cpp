#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/shard_pattern.h"
#include "runtime/data/manifest/tar_member.h"

// A pattern stands for several manifests or tars, which are read one after another. Each is read by
// its own format. All of them must be there: a shard that was not copied would otherwise be missed
// in silence.

namespace penstock::runtime {
namespace {

/// Refuses a pattern of NeMo's tars. They hold no texts, and the manifests that do are elsewhere.
void require_texts(const ManifestReading& reading, const std::filesystem::path& shard) {
  const std::filesystem::path folder = shard.has_parent_path() ? shard.parent_path() : ".";
  if (!reading.texts || !is_tar_name(shard) || !shard.filename().string().starts_with("audio"))
    return;
  for (const auto& place : {folder / "sharded_manifests", folder})
    if (const auto manifests = nemo_manifests(place); !manifests.empty())
      throw DataError(fmt::format(
          "manifest {}: names NeMo's tars, which hold no texts: name what lists them, {}",
          reading.manifest.string(), (manifests.size() > 1 ? place : manifests[0]).string()));
}

std::vector<std::filesystem::path> present_shards(const ManifestReading& reading) {
  std::vector<std::filesystem::path> shards, missing;
  for (const std::string& shard : expand_shards(reading.manifest.native())) {
    std::error_code error;
    (std::filesystem::exists(shard, error) ? shards : missing).emplace_back(shard);
  }
  if (missing.empty()) return shards;
  const std::size_t all = shards.size() + missing.size();
  throw DataError(fmt::format(
      "manifest {}: stands for {}, but {} missing, the first of them {}: {}",
      reading.manifest.string(), counted(std::ssize(missing) + std::ssize(shards), "file"),
      missing.size() == 1 ? "1 is" : fmt::format("{} are", missing.size()), missing[0].string(),
      missing.size() == all ? "correct its name"
                            : "copy them, or name those alone that are there"));
}

/// Returns the part of a shard's path that not all of them share, from a whole folder's name on.
std::filesystem::path own_part(const std::filesystem::path& shard,
                               const std::vector<std::filesystem::path>& shards) {
  // Groups are expanded from the left, so the first and the last shard differ soonest.
  const std::string &first = shards.front().native(), &last = shards.back().native();
  const auto common =
      static_cast<std::size_t>(std::ranges::mismatch(first, last).in1 - first.begin());
  // The slash after the common part ends a name that goes on in others: train/ and train_extra/.
  const std::size_t slash = common == 0 ? std::string::npos : first.rfind('/', common - 1);
  return shard.native().substr(slash == std::string::npos ? 0 : slash + 1);
}

}  // namespace

void read_shards(const ManifestReading& reading) {
  const std::vector<std::filesystem::path> shards = present_shards(reading);
  for (const auto& shard : shards) {
    require_texts(reading, shard);
    ManifestReading part = reading.with(shard);
    const std::filesystem::path own = own_part(shard, shards);
    std::error_code error;
    part.folder_name = std::filesystem::is_directory(shard, error) ? own : own.parent_path();
    read_by_format(part);
  }
}

}  // namespace penstock::runtime
