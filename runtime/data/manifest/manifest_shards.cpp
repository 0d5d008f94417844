#include <fmt/format.h>

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

}  // namespace

void read_shards(const ManifestReading& reading) {
  for (const auto& shard : present_shards(reading)) {
    require_texts(reading, shard);
    read_by_format(reading.with(shard));
  }
}

}  // namespace penstock::runtime
