#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {

/// A recording of Lhotse's that is one sound file, as it is.
struct LhotseRecording {
  std::filesystem::path sound;
  double seconds = 0;
  std::size_t channels = 1;
};

/// A span of a recording, in seconds.
struct LhotseSpan {
  double start = 0, seconds = 0;
};

/// Finds the sound files that Lhotse's manifests name.
class LhotseSounds {
 public:
  /// Keeps the reference.
  explicit LhotseSounds(const ManifestReading& reading) : reading_(reading) {}

  /// Returns a recording. Throws DataError that says why it can't be read as it is.
  [[nodiscard]] LhotseRecording recording(const nlohmann::json& recording);

 private:
  std::filesystem::path located(const std::string& source);

  const ManifestReading& reading_;
  std::optional<std::filesystem::path> folder_ = {};  // start of relative paths
};

/// Returns the span of a cut or a supervision. Throws DataError without a "start" and a "duration"
/// above 0.
[[nodiscard]] LhotseSpan span_in(const nlohmann::json& object);

/// Throws DataError if a cut or a supervision hears a single channel of several, which penstock
/// would mix.
void require_all_channels(const nlohmann::json& object, const LhotseRecording& recording);

/// Returns an utterance: a span of a recording, or all of it.
[[nodiscard]] ManifestEntry entry_of(const LhotseRecording& recording, const LhotseSpan& span);

}  // namespace penstock::runtime
