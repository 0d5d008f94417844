#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// Transformer encoders with CTC on spectra, pre-norm (Vaswani et al. 2017). They are a family of
/// models.
struct TransformerOptions {
  static constexpr std::string_view kind = "transformer";

  int channels = 128;                    // channels of the subsampling's convolutions
  int width = 256;                       // channels
  int heads = 4;                         // heads of attention
  int layers = 6;                        // blocks
  int inner = 1024;                      // channels between the two products of a feed-forward unit
  std::string positions = "rotary";      // none | absolute | rotary | relative
  std::string activation = "gelu";       // gelu | gelu_tanh | silu | swiglu
  std::string norm = "layer";            // layer | rms
  int left_context = -1;                 // frames before each one that attention sees; -1: all
  int right_context = -1;                // frames after it that attention sees; -1: all
  double dropout = 0;                    // within every unit
  double layer_drop = 0;                 // share of utterances that skip a unit, for each unit
  IntermediateLosses intermediate = {};  // CTC after some blocks

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from feature frames to the CTC loss:
  ///   subsampling (layers/models/subsampling.h) [positions]
  ///   blockN.attention blockN.feed_forward [blockN.intermediate_ctc] …
  ///   norm output ctc
  /// The units are residual (layers/models/residual_units.h). Absolute positions are added to
  /// frames that are multiplied by the width's square root. ShapeError for options that describe no
  /// model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
