#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/model_family.h"
#include "layers/nn/span_mask.h"

namespace penstock::layers {

/// Transformer encoders on raw audio with CTC: wav2vec 2.0 (Baevski et al. 2020) and HuBERT (Hsu et
/// al. 2021). They are a family of models, with the norms of the large models (the defaults) or
/// those of the base models (frontend_norm "group", norm_first false).
struct Wav2Vec2Options {
  static constexpr std::string_view kind = "wav2vec2";

  int channels = 512;                                 // channels of the front end's convolutions
  std::vector<int> kernels = {10, 3, 3, 3, 3, 2, 2};  // kernel of each
  std::vector<int> strides = {5, 2, 2, 2, 2, 2, 2};
  std::string frontend_norm = "layer";  // norm of each frame, after each convolution; or "group"
  bool frontend_bias = true;            // biases of these convolutions
  bool projection_norm = true;          // norm of the front end's frames, before their projection
  int width = 768;
  int heads = 12;
  int layers = 12;  // blocks
  int inner = 3072;
  bool norm_first = true;     // false: post-norm blocks
  int position_kernel = 128;  // frames that the convolution of positions sees
  int position_groups = 16;
  /// Weight normalisation of that convolution; Omnilingual ASR's second version has none.
  bool position_weight_norm = true;
  int adapter = 0;  // channels within an adapter after each block, as in MMS; 0: none
  double dropout = 0;
  double layer_drop = 0;       // share of utterances that skip a unit of a block, for each unit
  SpanMaskOptions masks = {};  // of frames and channels before the positions, in training
  IntermediateLosses intermediate = {};  // CTC after some blocks

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from samples to the CTC loss:
  ///   frontend.convI frontend.normI frontend.actI …
  ///   [projection.norm] projection.linear [mask] positions
  ///   blockN.attention blockN.feed_forward …
  ///   norm output ctc
  /// positions and the units of blocks are residual (layers/models/residual_units.h). With
  /// frontend_norm "group", the first convolution alone has a norm, of each channel over an
  /// utterance's frames. In post-norm models a norm follows each unit of a block, and `norm`
  /// precedes the first block:
  ///   positions norm
  ///   blockN.attention blockN.attention.norm blockN.feed_forward blockN.feed_forward.norm …
  ///   output ctc
  /// With an adapter (Houlsby et al. 2019), a further residual unit with ReLU ends each block:
  ///   blockN.attention blockN.feed_forward blockN.adapter …
  /// Weights of the front end's convolutions start with a standard deviation of √(2 / (in ·
  /// kernel)) (He et al. 2015), as in transformers. PyTorch's is 2.4 times smaller, and with it
  /// small models predict blanks for long. All else starts as PyTorch's layers do. ShapeError for
  /// options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
