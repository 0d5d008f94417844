#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// Conformers with CTC (Gulati et al. 2020), FastConformers (Rekesh et al. 2023) and w2v-BERT 2.0
/// (Barrault et al. 2023): a family of models.
struct ConformerOptions {
  static constexpr std::string_view kind = "conformer";

  int width = 144;                         // channels
  int heads = 4;                           // of attention
  int layers = 16;                         // blocks
  int inner = 0;                           // channels within feed-forward units; 0: 4 · width
  int kernel = 31;                         // frames of the depthwise convolution, odd
  bool causal_convolution = false;         // which sees no later frames
  std::string convolution_norm = "batch";  // batch | layer: after that convolution
  int subsampling = 4;                     // 1 | 4 | 8: feature frames that become one
  int channels = 0;                        // of the subsampling's convolutions; 0: width
  std::string positions = "relative";      // relative | shaw | absolute
  int left_positions = 64;                 // of Shaw's: distances to earlier frames, told apart
  int right_positions = 8;                 // and to later ones
  int left_context = -1;                   // frames that attention sees before each; -1: all
  int right_context = -1;                  // and behind it
  bool scale_input = false;                // the blocks' input is multiplied by √width
  bool attention_bias = true;    // products of attention and feed-forward units have biases
  bool convolution_bias = true;  // products and convolutions of convolution units have biases
  double dropout = 0;            // within every unit
  double input_dropout = 0;      // before the first block
  bool output_dropout = true;    // `dropout` also of what every unit adds
  double layer_drop = 0;         // share of utterances that pass by a unit, for each unit

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// The layers from feature frames to the CTC loss:
  ///   subsampling (layers/models/subsampling.h) [positions] [input_dropout]
  ///   blockN.feed_forward1 blockN.attention blockN.convolution blockN.feed_forward2 blockN.norm …
  ///   output ctc
  /// where the four units are residual (layers/models/residual_units.h), feed-forward ones add half
  /// of what they compute, and attention has Transformer-XL's relative positions, or Shaw's.
  /// Absolute ones are added before the first block instead, to frames that are scaled. With a
  /// subsampling of 1, feature frames are normalised and projected, as w2v-BERT 2.0 does it:
  ///   projection.norm projection.linear
  /// ShapeError for options that make no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
