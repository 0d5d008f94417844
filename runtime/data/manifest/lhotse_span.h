#pragma once

#include <string_view>

#include "runtime/data/manifest/lhotse_recording.h"

namespace penstock::runtime {

/// A span of a recording, in seconds.
struct LhotseSpan {
  double start = 0, seconds = 0;
};

/// Returns the part of a cut or a recording that a supervision describes, from the recording's
/// start. Lhotse rounds times, so a supervision may pass the ends by a little, which is cut off.
/// Throws DataError, which ends with the advice, if it passes them by more.
[[nodiscard]] LhotseSpan span_within(const LhotseSpan& whole, const LhotseSpan& own,
                                     std::string_view advice);

/// Returns an utterance without text: a span of a recording, or all of it.
[[nodiscard]] ManifestEntry make_entry(const LhotseRecording& recording, const LhotseSpan& span);

}  // namespace penstock::runtime
