#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

/// A loss: its layer, and all that others ask about it. Class 0 of the logits is the loss's own, as
/// the blank is CTC's, and no text has it. The classes from 1 on are the labels of the text.
struct Loss {
  /// Name by which families of models choose it.
  std::string_view name;

  /// Makes the layer that ends a sequence. It takes frames × classes, puts the utterances' losses
  /// into Context::targets and has no output. Its plan needs targets, and counts their labels.
  std::unique_ptr<Layer> (*make_layer)() = nullptr;

  /// Returns the fewest frames from which these labels can be learnt. Utterances with fewer are
  /// bad.
  std::int64_t (*frames_needed)(std::span<const std::int32_t> labels) = nullptr;

  /// Decodes one utterance, whose logits are frames × `channels`, to labels without class 0. The
  /// first `labels` channels are labels; further channels mean nothing in text. ShapeError if
  /// the logits are no whole number of frames, or if there are more labels than channels.
  std::vector<std::int32_t> (*greedy_labels)(std::span<const float> logits_FC,
                                             std::int64_t channels, std::int64_t labels) = nullptr;
};

}  // namespace penstock::layers
