#include <algorithm>
#include <utility>

#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/nemo_shards.h"

namespace penstock::runtime {
namespace {

/// Name that NeMo's script gives to the manifest of all shards.
constexpr const char* kAllShards = "tarred_audio_manifest.json";

}  // namespace

// NeMo writes one manifest of all shards, and may write one for each, with the same lines. So those
// of single shards are read only if the common one is missing.
std::vector<std::filesystem::path> nemo_manifests(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder / kAllShards, error)) return {folder / kAllShards};
  std::vector<std::pair<std::int64_t, std::filesystem::path>> found;
  for (const auto& item : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    const std::int64_t shard = shard_number(name);
    if (name.starts_with("manifest") && name.ends_with(".json") && shard >= 0)
      found.emplace_back(shard, item.path());
  }
  std::ranges::sort(found);
  std::vector<std::filesystem::path> manifests;
  for (auto& [shard, manifest] : found) manifests.push_back(std::move(manifest));
  return manifests;
}

void read_nemo(const ManifestReading& reading) {
  reading.sources.push_back(reading.manifest);
  for (const auto& manifest : nemo_manifests(reading.manifest))
    read_json_lines(reading.with(manifest));
}

}  // namespace penstock::runtime
