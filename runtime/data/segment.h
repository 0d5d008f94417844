#pragma once

#include <cstdint>
#include <optional>

#include "runtime/data/audio.h"

namespace penstock::runtime {

/// Seconds by which a manifest may be off: a segment's end behind the recording's, and a whole
/// recording's duration.
inline constexpr double kDurationTolerance = 0.1;

/// The part of a recording that an utterance is, in seconds as its manifest has it.
struct Segment {
  double offset = 0;               // from the recording's start; not negative
  std::optional<double> duration;  // nothing: up to its end
};

/// The samples of a segment. Both of its ends are rounded to the nearest sample, so that segments
/// that follow each other leave none out and share none. An end a little behind the recording's,
/// see kDurationTolerance, counts as that. DataError that says what is wrong if the segment begins
/// or ends behind the recording, or holds no sample.
[[nodiscard]] SampleRange samples_of(const Segment& segment, const AudioLength& recording);

}  // namespace penstock::runtime
