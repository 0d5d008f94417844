#pragma once

#include <cstdint>
#include <span>

#include "layers/context.h"

namespace penstock::layers {

// Labels come from files and lengths from their reader. Kernels index by both without a check, so
// losses check them here, on the host, once for each micro-batch. `loss` is its name in messages.

/// ShapeError if labels, weights or losses are not of as many utterances as `lengths`, or if the
/// numbers of labels do not add up.
void expect_targets_of(const Targets& targets, std::span<const std::int64_t> lengths,
                       const char* loss);

/// ShapeError if there are not as many texts as `lengths`, or if the numbers of labels do not add
/// up. Layers that read labels and have no loss call it; weights and losses are not looked at.
void expect_texts_of(const Targets& targets, std::span<const std::int64_t> lengths,
                     const char* layer);

/// ShapeError for labels that are not classes first … classes - 1.
void expect_labels_below(const Targets& targets, std::int64_t classes, const char* loss,
                         std::int32_t first = 1);

}  // namespace penstock::layers
