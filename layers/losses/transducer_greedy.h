#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/losses/transducer.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Labels that greedy decoding writes at most before it goes on to the next frame. NeMo's and
/// transformers' models have as many.
inline constexpr int kMaxLabelsAtFrame = 10;

/// Decodes utterances greedily with the prediction and joint networks of a Transducer, in host
/// memory and FP32. At each step it takes the best token (the lower one of equals) and, of a TDT,
/// the best duration:
///   RNN-T   a label is written, and the frame stays; a blank leads to the next frame
///   TDT     a label is written, or a blank is not; either leads on by the duration, but a blank of
///           duration 0 by one frame
/// After kMaxLabelsAtFrame labels at one frame, the next frame follows, as in NeMo. transformers
/// does that for RNN-T alone, and takes a duration's place in the list for its frames. The
/// prediction network runs once for each label.
class TransducerGreedy {
 public:
  /// `params` are a Transducer's, f32 in host memory and in the order of its plan. They must
  /// outlive the decoder. ShapeError for other numbers, shapes or dtypes of parameters.
  TransducerGreedy(const TransducerOptions& options, std::span<const Tensor> params);

  /// Returns the labels of one utterance without blanks. `encoded_TJ` is the input of the layer.
  /// ShapeError if it is no whole number of frames.
  [[nodiscard]] std::vector<std::int32_t> labels(std::span<const float> encoded_TJ) const;

 private:
  struct State;
  struct Step;

  /// Reads a label, or class 0 at first, and leaves the network's output in state.predicted_J.
  void read(State& state, std::int32_t label) const;
  void read_lstm(State& state) const;
  void read_context(State& state) const;
  Step step(State& state, std::span<const float> encoded_J) const;

  TransducerOptions options_;
  std::vector<Tensor> params_;
};

}  // namespace penstock::layers
