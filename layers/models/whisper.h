#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// The encoder of Whisper (Radford et al. 2022), on its log-mel features. It is a family of models.
/// The defaults are those of whisper-tiny.
struct WhisperOptions {
  static constexpr std::string_view kind = "whisper";

  int width = 384;                // channels
  int heads = 6;                  // heads of attention
  int layers = 4;                 // blocks
  int inner = 1536;               // channels between the two products of a feed-forward unit
  int max_frames = 1500;          // frames after the convolutions for which there are positions
  bool stored_positions = false;  // a table of positions is a parameter, which is never trained
  double dropout = 0;             // within every unit
  double layer_drop = 0;          // share of utterances that skip a unit, for each unit

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from feature frames to the CTC loss:
  ///   frontend.conv1 frontend.act1 frontend.conv2 frontend.act2 positions
  ///   blockN.attention blockN.feed_forward …
  ///   norm output ctc
  /// The second convolution halves the frames. The units are residual
  /// (layers/models/residual_units.h). ShapeError for options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
