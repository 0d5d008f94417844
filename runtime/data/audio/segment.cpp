#include "runtime/data/audio/segment.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace penstock::runtime {

// The end is rounded, and not the duration: rounding that would leave gaps between segments that
// touch.
SampleRange samples_of(const Segment& segment, const AudioLength& recording) {
  const double seconds = recording.seconds();
  const double end = segment.duration ? segment.offset + *segment.duration : seconds;
  if (segment.offset >= seconds)
    throw DataError(fmt::format("its offset is {:g} s, but the recording lasts {:.6g} s",
                                segment.offset, seconds));
  if (end > seconds + kDurationTolerance)
    throw DataError(
        fmt::format("it ends at {:.6g} s, its offset and duration together, but the "
                    "recording lasts {:.6g} s",
                    end, seconds));
  // Slightly more than half a sample, so that halves round up whatever their last bit is.
  const auto sample = [&](double at) {
    return static_cast<std::int64_t>(std::floor(at * recording.rate + 0.500001));
  };
  SampleRange range{sample(segment.offset), 0};
  range.samples = std::min<std::int64_t>(sample(end), recording.samples) - range.first;
  if (range.samples <= 0)
    throw DataError(
        fmt::format("its {:g} s hold no sample at {} Hz", end - segment.offset, recording.rate));
  return range;
}

}  // namespace penstock::runtime
