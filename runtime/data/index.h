#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/audio.h"
#include "runtime/data/manifest.h"

namespace penstock::runtime {

/// What reading a recording once has told of an utterance.
struct IndexedAudio {
  AudioLength length = {};                 // of the utterance
  std::optional<std::int64_t> first = {};  // sample at which it begins, of a segment
  std::string fault = {};                  // "a.wav: truncated: …"; empty if it can be used
};

struct IndexOptions {
  std::filesystem::path manifest;
  std::filesystem::path output;  // where the cache goes if not beside the manifest; may be empty
  int threads = 1;
  bool fresh = false;  // decodes all audio, whatever headers and the cache say
};

/// The exact length of every entry's audio, in the entries' order. A recording is looked at once,
/// however many segments it has, and where the cache doesn't know a file of its path, size and time
/// of change; a cache that can't be read or trusted counts as none. Segments that samples_of()
/// refuses, and durations of whole recordings that are off by more than kDurationTolerance, are
/// faults. The cache is written beside the manifest (MANIFEST.index), else in `output`, else not at
/// all; never in part.
[[nodiscard]] std::vector<IndexedAudio> index_audio(const std::vector<ManifestEntry>&,
                                                    const IndexOptions&);

}  // namespace penstock::runtime
