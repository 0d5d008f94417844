#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/data/manifest/json_line.h"

namespace penstock::runtime {

/// A recording as a manifest of Lhotse's describes it. See json_line.h on templates.
struct LhotseSource {
  std::size_t files = 0;
  std::string type, source;  // of the first file: "file" and its path, or how it is made
  std::size_t channels = 0;
  double seconds = 0;
  std::string transform;  // the first that penstock does not apply; "" if there is none
};

/// Returns the source that a recording's object describes. What is missing stays empty.
template <class Json>
[[nodiscard]] LhotseSource lhotse_source(const Json& recording) {
  LhotseSource found;
  const Json& files = part_in(recording, "sources");
  if (!files.is_array() || files.empty()) return found;
  found.files = files.size();
  found.type = string_in(files[0], "type").value_or("");
  found.source = string_in(files[0], "source").value_or("");
  found.channels = part_in(files[0], "channels").size();
  found.seconds = number_in(recording, "duration").value_or(0);
  for (const Json& transform : part_in(recording, "transforms")) {
    found.transform = string_in(transform, "name").value_or(transform.dump());
    if (found.transform != "Resample") return found;
    found.transform.clear();
  }
  return found;
}

/// A recording of Lhotse's that is one sound file, as it is.
struct LhotseRecording {
  std::filesystem::path sound;
  double seconds = 0;
  std::size_t channels = 1;
};

/// Finds the sound files that Lhotse's manifests name.
class LhotseSounds {
 public:
  /// Keeps the reference.
  explicit LhotseSounds(const ManifestReading& reading) : reading_(reading) {}

  /// Returns a recording. Throws DataError that says why it can't be read as it is.
  [[nodiscard]] LhotseRecording recording(const LhotseSource& source);

 private:
  std::filesystem::path located(const std::string& source);

  const ManifestReading& reading_;
  std::optional<std::filesystem::path> folder_ = {};  // start of relative paths
};

}  // namespace penstock::runtime
