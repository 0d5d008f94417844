#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/models/model_family.h"

namespace penstock::layers {

/// Transformer encoders on raw audio with CTC: wav2vec 2.0 (Baevski et al. 2020) and HuBERT (Hsu et
/// al. 2021), with the norms of their base models (frontend_norm "group", norm_first false) or
/// those of their large ones (the defaults): a family of models.
struct Wav2Vec2Options {
  static constexpr std::string_view kind = "wav2vec2";

  int channels = 512;                                 // of the front end's convolutions
  std::vector<int> kernels = {10, 3, 3, 3, 3, 2, 2};  // of each
  std::vector<int> strides = {5, 2, 2, 2, 2, 2, 2};
  std::string frontend_norm = "layer";  // of each frame, after each convolution; or "group"
  bool frontend_bias = true;            // of these convolutions
  bool projection_norm = true;          // of the front end's frames, before their projection
  int width = 768;
  int heads = 12;
  int layers = 12;  // blocks
  int inner = 3072;
  bool norm_first = true;     // false: post-norm blocks
  int position_kernel = 128;  // frames that the convolution of positions sees
  int position_groups = 16;
  bool position_weight_norm =
      true;         // of that convolution; Omnilingual ASR's second version has none
  int adapter = 0;  // channels within an adapter after each block, as MMS has them; 0: none
  double dropout = 0;
  double layer_drop = 0;  // share of utterances that pass by a unit of a block, for each unit

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// The layers from samples to the CTC loss:
  ///   frontend.convI frontend.normI frontend.actI …
  ///   [projection.norm] projection.linear positions
  ///   blockN.attention blockN.feed_forward …
  ///   norm output ctc
  /// where positions and what blocks hold are residual units (layers/models/residual_units.h).
  /// With frontend_norm "group", the first convolution alone has a norm, of each channel over an
  /// utterance's frames. Post-norm, each unit of a block is followed by its norm, and `norm` by the
  /// first block:
  ///   positions norm
  ///   blockN.attention blockN.attention.norm blockN.feed_forward blockN.feed_forward.norm …
  ///   output ctc
  /// With an adapter (Houlsby et al. 2019), a further residual unit with ReLU ends each block:
  ///   blockN.attention blockN.feed_forward blockN.adapter …
  /// Weights of the front end's convolutions start with a deviation of √(2 / (in · kernel)) (He et
  /// al. 2015), as in transformers: with PyTorch's, 2.4 times less, small models stay at the blank
  /// for long. All else starts as PyTorch's layers do.
  /// ShapeError for options that make no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
