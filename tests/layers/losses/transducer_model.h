#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/losses/transducer.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {

using Text = std::vector<std::int32_t>;

/// A Transducer's parameters, and random ones at first.
struct Model {
  explicit Model(const TransducerOptions& options, std::uint64_t seed = 5, double spread = 1)
      : layer(options), runner(layer, {DType::f32, {{{1}, options.joint}}}) {
    for (const Tensor& param : runner.params())
      test::assign(param, test::uniform(param.size(), ++seed, -spread, spread));
  }
  std::span<const Tensor> params() const { return runner.params(); }
  /// Sets the bias of a class or duration so that it always is the best one.
  void prefer(std::int64_t output) { runner.params().back().as<float>()[output] = 1000; }
  /// Takes the parameters of a golden file.
  void copy_from(const test::Golden& golden) {
    for (std::size_t i = 0; i < params().size(); ++i)
      golden.copy(runner.plan().params[i].name.substr(layer.name().size() + 1), params()[i]);
  }

  Transducer layer;
  test::LayerRunner runner;
};

inline std::vector<float> random_frames(std::int64_t count, std::int64_t channels,
                                        std::uint64_t seed) {
  const std::vector<double> wide = test::uniform(count * channels, seed, -2, 2);
  return {wide.begin(), wide.end()};
}

inline TransducerOptions small_transducer(std::vector<std::int32_t> durations = {}) {
  return {.name = "t",
          .classes = 5,
          .joint = 6,
          .durations = std::move(durations),
          .prediction = {.embedding = 8, .layers = 2, .hidden = 5}};
}

/// Computes logits by the definition: the layer's own prediction network reads the whole text each
/// time, and sums are FP64.
class WholeTextNetworks {
 public:
  explicit WholeTextNetworks(const Model& model)
      : options_(model.layer.options()),
        params_(model.params()),
        network_(options_.name, options_.classes, options_.joint, options_.prediction) {}

  const TransducerOptions& options() const { return options_; }

  /// Returns the logits of a frame after a text, whose first id is 0.
  std::vector<double> logits(std::span<const float> frame, Text ids) const {
    const auto P = static_cast<std::int64_t>(ids.size()), J = options_.joint;
    std::vector<float> predicted(static_cast<std::size_t>(P * J));
    const std::vector<std::int64_t> positions = {P};
    test::GuardedMemory room(network_.plan(positions, {}).workspace.forward);
    Context context{*backend_, *stream_, Mode::evaluate, positions, {}, room.bytes()};
    network_.forward(context, params_.first(params_.size() - 2), {ids.data(), DType::i32, {P}},
                     {predicted.data(), DType::f32, {P, J}}, {});
    const Tensor weight = params_[params_.size() - 2], bias = params_.back();
    std::vector<double> logits;
    for (std::int64_t k = 0; k < bias.size(); ++k) {
      double sum = bias.as<float>()[k];
      for (std::int64_t j = 0; j < J; ++j) {
        const double in = static_cast<double>(frame[j]) + predicted[(P - 1) * J + j];
        const bool relu = options_.nonlinearity == JointNonlinearity::relu;
        sum += weight.as<float>()[k * J + j] * (relu ? std::max(in, 0.0) : std::tanh(in));
      }
      logits.push_back(sum);
    }
    return logits;
  }

 private:
  TransducerOptions options_;
  std::span<const Tensor> params_;
  PredictionNetwork network_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

}  // namespace penstock::layers
