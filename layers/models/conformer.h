#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// Conformers with CTC (Gulati et al. 2020): a family of models.
struct ConformerOptions {
  static constexpr std::string_view kind = "conformer";

  int width = 144;        // channels
  int heads = 4;          // of attention
  int layers = 16;        // blocks
  int kernel = 31;        // frames of the depthwise convolution, odd
  double dropout = 0;     // within every unit
  double layer_drop = 0;  // share of utterances that pass by a unit, for each unit

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// The layers from feature frames to the CTC loss:
  ///   subsampling (layers/models/subsampling.h)
  ///   blockN.feed_forward1 blockN.attention blockN.convolution blockN.feed_forward2 blockN.norm …
  ///   output ctc
  /// where the four units are residual (layers/models/residual_units.h), feed-forward ones add half
  /// of what they compute, and attention has Transformer-XL's relative positions. ShapeError for
  /// options that make no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
