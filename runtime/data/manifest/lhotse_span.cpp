#include "runtime/data/manifest/lhotse_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace penstock::runtime {
namespace {

/// Distance in seconds below which a span is the whole recording. Lhotse rounds to fewer digits.
constexpr double kExactly = 1e-3;

/// Seconds by which a supervision may pass the ends of its cut. Lhotse rounds times.
constexpr double kSlack = 0.01;

}  // namespace

LhotseSpan span_within(const LhotseSpan& whole, const LhotseSpan& own, std::string_view advice) {
  const double end = own.start + own.seconds;
  const double first = std::max(own.start, 0.0), last = std::min(end, whole.seconds);
  if (own.start < -kSlack || end > whole.seconds + kSlack || last <= first)
    throw DataError(fmt::format(
        "lasts from {:g} to {:g} s, but there are {:g} s: no text may say more than is heard. {}",
        own.start, end, whole.seconds, advice));
  return {whole.start + first, last - first};
}

ManifestEntry make_entry(const LhotseRecording& recording, const LhotseSpan& span) {
  ManifestEntry entry{recording.sound, {}, span.seconds, {}};
  const bool whole =
      std::abs(span.start) < kExactly && std::abs(span.seconds - recording.seconds) < kExactly;
  if (!whole) entry.offset = span.start;
  return entry;
}

}  // namespace penstock::runtime
