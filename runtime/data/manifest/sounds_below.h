#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {

/// Finds recordings anywhere below a folder by their names without extension. Memory: all paths.
class SoundsBelow {
 public:
  /// Adds the folders below to the reading's sources, and the folder itself if it is the manifest.
  /// Throws DataError if there are no recordings at all.
  SoundsBelow(const ManifestReading& reading, const std::filesystem::path& folder);

  /// Returns the recording of a name. Throws DataError if there is none, or more than one.
  [[nodiscard]] const std::filesystem::path& named(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  std::unordered_map<std::string, std::filesystem::path> sounds_, second_;
};

}  // namespace penstock::runtime
