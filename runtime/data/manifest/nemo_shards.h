#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/manifest/tar_listings.h"

namespace penstock::runtime {

/// The tars of a NeMo manifest: audio_0.tar, audio_1.tar, … (any audio…_N….tar). They lie beside
/// the manifest or, for sharded manifests, in the folder above it.
class NemoShards {
 public:
  /// Keeps references to `tars` and `sources`, which must outlive it. The paths of missing shards
  /// are added to `sources`.
  NemoShards(const std::filesystem::path& manifest, TarListings& tars,
             std::vector<std::filesystem::path>& sources);

  /// Returns the recording `name` of a shard, spelled by path_of(), or a plain file if there are no
  /// shards at all. A name that ends in -subN is a further segment of the recording without it.
  /// Throws DataError that says what is missing.
  [[nodiscard]] std::filesystem::path recording(std::int64_t shard, const std::string& name);

 private:
  const std::filesystem::path& tar_of(std::int64_t shard);

  std::filesystem::path folder_, above_;
  std::map<std::int64_t, std::vector<std::filesystem::path>> shards_;
  std::set<std::int64_t> missing_;
  TarListings& tars_;
  std::vector<std::filesystem::path>& sources_;
};

/// Returns the last number after an underscore: 3 for audio_3.tar and manifest_3_clean.json; -1 if
/// there is none.
[[nodiscard]] std::int64_t shard_number(const std::string& file_name);

}  // namespace penstock::runtime
