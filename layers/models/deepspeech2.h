#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// DeepSpeech2 (Amodei et al. 2016), as deepspeech.pytorch builds it. It is a family of models.
struct DeepSpeech2Options {
  static constexpr std::string_view kind = "deepspeech2";

  int channels = 32;        // channels of both convolutions
  std::string rnn = "gru";  // tanh | gru | lstm
  int hidden = 256;
  int layers = 3;             // recurrent layers
  bool bidirectional = true;  // directions are summed
  /// Frames that an output of a one-directional model sees, the present one included; 0: no
  /// lookahead.
  int lookahead = 20;
  double dropout = 0;  // after every recurrent layer but the last

  std::vector<Key> keys();
  /// Returns the layers from feature frames to the CTC loss:
  ///   conv1 norm1 relu1 conv2 norm2 relu2
  ///   rnn1.input rnn1 [dropout1] rnn2.norm rnn2.input rnn2 [dropout2] …
  ///   [lookahead lookahead.relu] output.norm output ctc
  /// rnnN.input is the product of a recurrence with its input, and output gives the logits.
  /// ShapeError for options that describe no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
