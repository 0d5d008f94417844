#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/losses/transducer.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Labels that decoding writes at most before it goes on to the next frame. NeMo's and
/// transformers' models have as many.
inline constexpr int kMaxLabelsAtFrame = 10;

/// Runs the prediction and joint networks of a Transducer label by label, in host memory and FP32.
/// Decoders share it: they choose tokens, and this computes what to choose from.
class TransducerStep {
 public:
  /// The memory that the prediction network has of the labels that it has read, and its output.
  struct State;

  /// `params` are a Transducer's, f32 in host memory and in the order of its plan. They must
  /// outlive it. ShapeError for other numbers, shapes or dtypes of parameters.
  TransducerStep(const TransducerOptions& options, std::span<const Tensor> params);

  const TransducerOptions& options() const { return options_; }
  std::int64_t outputs() const;  // K: classes + durations

  /// Returns the number of frames of J channels. ShapeError if it is not whole.
  std::size_t frames(std::span<const float> encoded_TJ) const;

  /// Returns the state at the start of a text, after class 0.
  [[nodiscard]] std::shared_ptr<const State> start() const;
  /// Returns the state after one label more.
  [[nodiscard]] std::shared_ptr<const State> read(const State& state, std::int32_t label) const;

  /// Returns the joint network's logits of one frame, K for each state. Several states at once read
  /// its weights once.
  [[nodiscard]] std::vector<float> logits(std::span<const State* const> states,
                                          std::span<const float> encoded_J) const;

  /// Returns the frames from a step to the next one, at least 1 for a blank. `duration` is the
  /// place in TransducerOptions::durations; an RNN-T has none and passes 0.
  std::int32_t advance(std::int32_t token, std::size_t duration) const;

 private:
  void read_lstm(State& state) const;
  void read_context(State& state) const;
  void read_label(State& state, std::int32_t label) const;

  TransducerOptions options_;
  std::vector<Tensor> params_;
};

}  // namespace penstock::layers
