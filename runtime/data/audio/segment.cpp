#include "runtime/data/audio/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace penstock::runtime {
namespace {

/// Asks for the unit of a time that fits its recording as milliseconds: "; are its times
/// milliseconds?". A time of seconds is seldom so far beyond the end. "" for other times.
std::string ask_for_unit(double end, double seconds) {
  constexpr double kFar = 20;  // lengths of the recording
  const bool fits = end / 1000 <= seconds;
  return fits && end > kFar * seconds ? "; are its times milliseconds?" : "";
}

}  // namespace

// The end is rounded, and not the duration: rounding that would leave gaps between segments that
// touch.
SampleRange samples_of(const Segment& segment, const AudioLength& recording) {
  const double seconds = recording.seconds();
  const double end = segment.duration ? segment.offset + *segment.duration : seconds;
  if (segment.offset >= seconds)
    throw DataError(fmt::format("its offset is {:g} s, but the recording lasts {:.6g} s{}",
                                segment.offset, seconds,
                                ask_for_unit(std::max(segment.offset, end), seconds)));
  if (end > seconds + kDurationTolerance)
    throw DataError(
        fmt::format("it ends at {:.6g} s, its offset and duration together, but the "
                    "recording lasts {:.6g} s{}",
                    end, seconds, ask_for_unit(end, seconds)));
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
