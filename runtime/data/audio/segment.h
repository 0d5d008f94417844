#pragma once

#include <cstdint>
#include <optional>

#include "runtime/data/audio/audio.h"

namespace penstock::runtime {

/// Seconds by which a manifest may be off. A segment may end this much after its recording, and the
/// stated duration of a whole recording may differ this much from the real one.
inline constexpr double kDurationTolerance = 0.1;

/// The part of a recording that an utterance covers, in seconds as in its manifest.
struct Segment {
  double offset = 0;               // seconds from the recording's start; not negative
  std::optional<double> duration;  // none: up to the recording's end
};

/// Returns the samples of a segment. Both ends are rounded to the nearest sample, so adjacent
/// segments share no sample and leave none out. An end within kDurationTolerance after the
/// recording's end counts as the recording's end. Throws DataError that describes the problem if
/// the segment begins or ends after the recording, or holds no sample.
[[nodiscard]] SampleRange samples_of(const Segment& segment, const AudioLength& recording);

}  // namespace penstock::runtime
