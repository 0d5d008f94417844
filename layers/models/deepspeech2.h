#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/layer.h"
#include "layers/ops/recurrence.h"

namespace penstock {

/// DeepSpeech2 (Amodei et al. 2016) as deepspeech.pytorch builds it.
struct DeepSpeech2Options {
  std::int64_t features = 161;  // channels of the input frames
  std::int64_t channels = 32;   // of both convolutions
  RecurrenceKind rnn = RecurrenceKind::gru;
  std::int64_t hidden = 256;
  std::int64_t layers = 3;      // recurrent ones
  bool bidirectional = true;    // directions are summed
  std::int64_t lookahead = 20;  // frames, the present one included, that a one-directional model's
                                // output sees; 0: no lookahead
  double dropout = 0;           // behind every recurrent layer but the last
  std::int64_t labels = 29;     // blank included
};

/// The chain of layers, from feature frames to the CTC loss:
///   conv1 norm1 relu1 conv2 norm2 relu2
///   rnn1.input rnn1 [dropout1] rnn2.norm rnn2.input rnn2 [dropout2] …
///   [lookahead lookahead.relu] output.norm output ctc
/// where rnnN.input is the product of a recurrence with its input, and output gives the logits.
/// ShapeError for options that make no model.
std::vector<std::unique_ptr<Layer>> deepspeech2(const DeepSpeech2Options& options);

}  // namespace penstock
