#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// How much of a long list is batched by length, and its results written, at once.
struct WindowBounds {
  std::int64_t utterances = 1024;

  /// As much audio as so many utterances of usual length have. One utterance may exceed it.
  double seconds() const { return 12.0 * static_cast<double>(utterances); }
};

/// Utterances of a list that have not been dealt with.
struct WindowStart {
  std::size_t first = 0, size = 0;  // size: of the whole list
};

/// The utterance behind the window that begins with `start.first`. It depends on nothing before
/// that, so that a run that goes on at the end of a window has the same windows as one that was
/// never ended.
[[nodiscard]] std::size_t window_end(const WindowBounds& bounds, const WindowStart& start,
                                     const std::function<double(std::size_t)>& seconds);

/// Utterances [first, end) of a corpus, with ids from 0 on. Nothing is counted as left out of it.
[[nodiscard]] Corpus window_of(const Corpus& corpus, std::size_t first, std::size_t end);

}  // namespace penstock::runtime
