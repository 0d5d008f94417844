#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/layer.h"
#include "layers/nn/span_mask.h"

namespace penstock::layers {

/// The parameter of that layer. Evaluation does not use it.
inline constexpr std::string_view kMaskEmbedding = "mask.embedding";

/// Returns the keys of masks before a model's blocks, "model.mask_time_prob" and so on. They are
/// named after the settings of transformers. They point into `masks`.
[[nodiscard]] std::vector<Key> span_mask_keys(SpanMaskOptions* masks);

/// Returns true for the names of these keys.
[[nodiscard]] bool is_key_of_masks(std::string_view name);

/// Returns what contradicts a width of so many channels.
[[nodiscard]] std::vector<Contradiction> span_mask_contradictions(const SpanMaskOptions& masks,
                                                                  int channels);

/// Appends the layer "mask" for frames of so many channels, if any share is masked.
void add_span_mask(std::vector<std::unique_ptr<Layer>>& sequence, const SpanMaskOptions& masks,
                   int channels);

}  // namespace penstock::layers
