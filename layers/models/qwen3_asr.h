#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// The audio tower of Qwen3-ASR (Qwen team 2026) and its projector, on Whisper's features. It is a
/// family of models. The defaults are those of Qwen3-ASR-1.7B.
struct Qwen3AsrOptions {
  static constexpr std::string_view kind = "qwen3_asr";

  int channels = 480;     // channels of the convolutions
  int chunk = 100;        // frames of a chunk, before the convolutions
  int window = 800;       // frames of a window of attention, before the convolutions
  int width = 1024;       // channels
  int heads = 16;         // heads of attention
  int layers = 24;        // blocks
  int inner = 4096;       // channels between the two products of a feed-forward unit
  double dropout = 0;     // within every unit
  double layer_drop = 0;  // share of utterances that skip a unit, for each unit

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from feature frames to the CTC loss:
  ///   frontend.pad frontend.conv1 frontend.act1 … frontend.act3 frontend.linear positions
  ///   blockN.attention blockN.feed_forward …
  ///   norm projector.linear projector.act output ctc
  /// Each convolution halves frames and frequencies. The units are residual
  /// (layers/models/residual_units.h). ShapeError for options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
