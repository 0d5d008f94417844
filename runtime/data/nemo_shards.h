#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/tar_listings.h"

namespace penstock::runtime {

/// The tars of one of NeMo's manifests: audio_0.tar, audio_1.tar, … (any audio…_N….tar), which lie
/// beside it or, of sharded manifests, in the folder above.
class NemoShards {
 public:
  /// `tars` must outlive it. `sources` gets the paths at which shards are missing.
  NemoShards(const std::filesystem::path& manifest, TarListings& tars,
             std::vector<std::filesystem::path>& sources);

  /// The recording `name` of a shard, as path_of() spells it, or a file of its own where there are
  /// no shards at all. A name that ends in -subN is a further segment of the recording without it.
  /// DataError that says what is missing.
  [[nodiscard]] std::filesystem::path recording(std::int64_t shard, const std::string& name);

 private:
  const std::filesystem::path& tar_of(std::int64_t shard);

  std::filesystem::path folder_, above_;
  std::map<std::int64_t, std::vector<std::filesystem::path>> shards_;
  std::set<std::int64_t> missing_;
  TarListings& tars_;
  std::vector<std::filesystem::path>& sources_;
};

/// The last number behind an underscore: 3 of audio_3.tar and of manifest_3_clean.json; -1: there
/// is none.
[[nodiscard]] std::int64_t shard_number(const std::string& file_name);

}  // namespace penstock::runtime
