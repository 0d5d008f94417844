#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "layers/models/model_family.h"

namespace penstock::layers {

/// Convolutions over frames with CTC, without recurrence or attention (Collobert et al. 2016), with
/// the sizes of OpenSeq2Seq's Wav2Letter+. They are a family of models. A block is several equal
/// convolutions.
struct Wav2LetterOptions {
  static constexpr std::string_view kind = "wav2letter";

  std::vector<int> channels = {256, 256, 384, 512, 640, 768, 896, 1024};  // channels of each block
  std::vector<int> kernels = {11, 11, 13, 17, 21, 25, 29, 1};
  std::vector<int> repeats = {1, 3, 3, 3, 3, 3, 1, 1};  // convolutions per block
  std::vector<int> strides = {2, 1, 1, 1, 1, 1, 1, 1};  // stride of the first convolution
  std::vector<int> dilations = {1, 1, 1, 1, 1, 1, 2, 1};
  std::vector<double> dropouts = {0.2, 0.2, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4};  // after each
  double clip = 20;

  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the layers from feature frames to the CTC loss:
  ///   blockB.convI blockB.normI blockB.reluI [blockB.dropoutI] …
  ///   output ctc
  /// ShapeError for options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
