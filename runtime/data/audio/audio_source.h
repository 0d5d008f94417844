#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "runtime/data/audio/audio.h"

namespace penstock::runtime {

/// The location of an utterance's audio, and its length according to the index.
struct AudioSource {
  std::filesystem::path audio;
  AudioLength length;
  std::optional<std::int64_t> first = {};  // sample at which a segment begins
};

/// Returns the audio source of an utterance by its id. Threads call it concurrently.
using AudioSources = std::function<AudioSource(std::uint64_t)>;

/// Reads an audio source from `file`, where it lies on this machine. Throws DataError if its audio
/// differs from the index.
[[nodiscard]] Audio read_source(const AudioSource& source, const std::filesystem::path& file);

/// The same. `reader` reads segments.
[[nodiscard]] Audio read_source(const AudioSource& source, const std::filesystem::path& file,
                                RangeReader& reader);

/// Reads a part of it, counted from its first sample.
[[nodiscard]] Audio read_part(const AudioSource& source, const std::filesystem::path& file,
                              const SampleRange& part);

}  // namespace penstock::runtime
