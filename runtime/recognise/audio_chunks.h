#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/data/audio/audio.h"

namespace penstock::runtime {

/// Seconds of a chunk that suit most models.
inline constexpr double kUsualChunk = 30;

/// How recordings that are longer than a chunk are heard.
struct Chunking {
  double seconds = 0;  // of a chunk; 0: recordings are heard whole
  /// Seconds that neighbours share; empty: a third of a chunk, as in transformers' pipeline.
  std::optional<double> overlap = std::nullopt;

  bool enabled() const { return seconds > 0; }
  double shared_seconds() const { return overlap.value_or(seconds / 3); }
};

/// A part of a recording that the model hears at once, and the frames at the loss that count of it.
struct AudioChunk {
  SampleRange samples;       // of the recording
  std::int64_t skipped = 0;  // frames at its beginning that do not count
  std::int64_t counted = 0;  // frames after these that do
  bool operator==(const AudioChunk&) const = default;
};

/// Cuts recordings into chunks for one model.
class AudioChunks {
 public:
  /// The sequence must outlive it. ConfigError if the overlap leaves a chunk no frame of its own,
  /// or if a chunk is too short or too long for the model.
  AudioChunks(const Chunking& chunking, const partition::LayerSequence& sequence,
              const configs::FeatureConfig& features);

  /// True for a recording that is longer than a chunk.
  [[nodiscard]] bool cuts(const AudioLength& length) const;

  /// Returns the chunks of such a recording, in order. Their counted frames are those of the
  /// recording, one after the other. DataError as from resampling(), and for a recording of a
  /// sample rate for which a chunk is too short.
  [[nodiscard]] std::vector<AudioChunk> cut(const AudioLength& length) const;

  /// Returns how many frames at the loss a recording of so many frames of features has, or one or
  /// two more.
  [[nodiscard]] std::int64_t output_frames(std::int64_t frames) const;

 private:
  std::int64_t rows(const AudioLength& length) const;

  Chunking chunking_;
  const partition::LayerSequence& sequence_;
  configs::FeatureConfig features_;
  std::int64_t joined_;  // frames of features that the model joins
};

}  // namespace penstock::runtime
