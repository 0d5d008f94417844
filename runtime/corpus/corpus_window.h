#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// Limits of the part of a long list that is batched by length, and whose results are written, at
/// once.
struct WindowBounds {
  std::int64_t utterances = 1024;

  /// Returns the seconds that as many utterances of usual length last. A single utterance may
  /// exceed them.
  double seconds() const { return 12.0 * static_cast<double>(utterances); }
};

/// The part of a list that is left to process.
struct WindowStart {
  std::size_t first = 0, size = 0;  // size: of the whole list
};

/// Returns the end of the window that begins with `start.first`. The result does not depend on
/// earlier utterances. So a run that resumes at the end of a window forms the same windows as an
/// uninterrupted one.
[[nodiscard]] std::size_t window_end(const WindowBounds& bounds, const WindowStart& start,
                                     const std::function<double(std::size_t)>& seconds);

/// Returns these utterances of a corpus, with ids from 0 on in their order. Its counts of left-out
/// utterances are 0.
[[nodiscard]] Corpus select_utterances(const Corpus& corpus, std::vector<std::uint64_t> ids);

/// Returns utterances [first, end) so.
[[nodiscard]] Corpus window_of(const Corpus& corpus, std::size_t first, std::size_t end);

}  // namespace penstock::runtime
