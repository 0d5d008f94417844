#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// DeepSpeech2 (Amodei et al. 2016) as deepspeech.pytorch builds it: a family of models.
struct DeepSpeech2Options {
  static constexpr std::string_view kind = "deepspeech2";

  int channels = 32;        // of both convolutions
  std::string rnn = "gru";  // tanh | gru | lstm
  int hidden = 256;
  int layers = 3;             // recurrent ones
  bool bidirectional = true;  // directions are summed
  int lookahead = 20;         // frames, the present one included, that a one-directional model's
                              // output sees; 0: no lookahead
  double dropout = 0;         // behind every recurrent layer but the last

  std::vector<Key> keys();
  /// The layers from feature frames to the CTC loss:
  ///   conv1 norm1 relu1 conv2 norm2 relu2
  ///   rnn1.input rnn1 [dropout1] rnn2.norm rnn2.input rnn2 [dropout2] …
  ///   [lookahead lookahead.relu] output.norm output ctc
  /// where rnnN.input is the product of a recurrence with its input, and output gives the logits.
  /// ShapeError for options that make no model.
  std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const;
};

}  // namespace penstock::layers
