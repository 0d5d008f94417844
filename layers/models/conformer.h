#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/model_family.h"
#include "layers/nn/span_mask.h"

namespace penstock::layers {

/// Conformers with CTC (Gulati et al. 2020), FastConformers (Rekesh et al. 2023) and w2v-BERT 2.0
/// (Barrault et al. 2023): a family of models.
struct ConformerOptions {
  static constexpr std::string_view kind = "conformer";

  int width = 144;                         // channels
  int heads = 4;                           // heads of attention
  int layers = 16;                         // blocks
  int inner = 0;                           // channels within feed-forward units; 0: 4 · width
  int kernel = 31;                         // kernel of the depthwise convolution in frames, odd
  bool causal_convolution = false;         // the convolution sees no later frames
  std::string convolution_norm = "batch";  // batch | layer: norm after that convolution
  int subsampling = 4;                     // 1 | 4 | 8: feature frames that become one
  int channels = 0;                        // channels of the subsampling's convolutions; 0: width
  std::string positions = "relative";      // relative | shaw | absolute
  int left_positions = 64;                 // with shaw: clipped distances to earlier frames
  int right_positions = 8;                 // with shaw: clipped distances to later frames
  int left_context = -1;                   // frames before each one that attention sees; -1: all
  int right_context = -1;                  // frames after it that attention sees; -1: all
  bool scale_input = false;                // multiply the blocks' input by √width
  bool attention_bias = true;    // products of attention and feed-forward units have biases
  bool convolution_bias = true;  // products and convolutions of convolution units have biases
  double dropout = 0;            // within every unit
  double input_dropout = 0;      // before the first block
  bool output_dropout = true;    // apply `dropout` also to every unit's output
  double layer_drop = 0;         // share of utterances that skip a unit, for each unit
  SpanMaskOptions masks = {};    // of frames and channels after the subsampling, in training
  IntermediateLosses intermediate = {};  // CTC after some blocks

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from feature frames to the CTC loss:
  ///   subsampling (layers/models/subsampling.h) [input_dropout] [mask]
  ///   blockN.feed_forward1 blockN.attention blockN.convolution blockN.feed_forward2 blockN.norm
  ///   [blockN.intermediate_ctc] …
  ///   output ctc
  /// The four units are residual (layers/models/residual_units.h), and feed-forward ones add half
  /// of their output. Attention has Transformer-XL's relative positions, or Shaw's. Absolute
  /// positions are added before the first block instead, to scaled frames:
  ///   subsampling [mask] positions [input_dropout]
  /// With a subsampling of 1,
  /// feature frames are normalised and projected, as in w2v-BERT 2.0:
  ///   projection.norm projection.linear
  /// ShapeError for options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
