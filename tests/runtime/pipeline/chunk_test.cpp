#include "runtime/pipeline/chunk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {
namespace {

/// A layer that counts its forwards.
class CountedLayer final : public layers::Layer {
 public:
  CountedLayer(std::unique_ptr<layers::Layer> layer, int& forwards)
      : layer_(std::move(layer)), forwards_(forwards) {}
  const std::string& name() const override { return layer_->name(); }
  layers::LayerPlan plan(const layers::ActivationDecl& input,
                         const layers::BackendSizes& sizes) const override {
    return layer_->plan(input, sizes);
  }
  void forward(layers::Context& c, const layers::Params& p, const layers::Activation& x,
               layers::Activation& y, layers::Saved s) const override {
    ++forwards_;
    layer_->forward(c, p, x, y, s);
  }
  void backward_input(layers::Context& c, const layers::Params& p, const layers::Activation& dy,
                      layers::Saved s, layers::Activation& dx) const override {
    layer_->backward_input(c, p, dy, s, dx);
  }
  void backward_weight(layers::Context& c, layers::Saved s, layers::Grads grads) const override {
    layer_->backward_weight(c, s, grads);
  }

 private:
  std::unique_ptr<layers::Layer> layer_;
  int& forwards_;
};

/// A training step of a model whose first layers are frozen, on one rank.
class FrozenFront : public testing::Test {
 protected:
  FrozenFront() {
    configs::Config config;
    config.model = {.features = 41,
                    .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2}};
    config.optimizer.freeze = {"conv*", "norm?.*"};
    sequence_ = partition::build_trained_model(config, 29);
    forwards_.assign(sequence_.layers.size(), 0);
    for (std::size_t i = 0; i < forwards_.size(); ++i)
      sequence_.layers[i] =
          std::make_unique<CountedLayer>(std::move(sequence_.layers[i]), forwards_[i]);
    const auto plans = partition::plan_without_frames(sequence_, {});
    front_ = static_cast<int>(std::ranges::find_if(plans, &layers::LayerPlan::runs_backward) -
                              plans.begin());
  }

  /// Forwards of each layer in a step.
  std::vector<int> count(const std::string& schedule, const partition::ChosenLayers& chosen) {
    std::ranges::fill(forwards_, 0);
    StageOptions options;
    options.schedule = partition::RunSchedule(schedule, 1);
    options.cut = {0, sequence_.size()};
    options.recompute = chosen;
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream({});
    const auto alone = comm::make_thread_communicators({.ranks = 1});
    Stage stage(*backend, *stream, *alone.front(), sequence_, options);
    ExecutorCallbacks callbacks;
    callbacks.read_features = [](int, std::span<float> x_FC, std::span<float> weights) {
      std::ranges::fill(x_FC, 0.5f);
      std::ranges::fill(weights, 1.0f);
    };
    stage.train(synthetic_work({.micro_batches = kMicroBatches, .utterances = 2, .seconds = 0.7}),
                callbacks);
    return forwards_;
  }

  static constexpr int kMicroBatches = 3;
  partition::LayerSequence sequence_;
  std::vector<int> forwards_;
  int front_ = 0;  // layers
};

TEST_F(FrozenFront, RunsOnceWhateverIsRecomputed) {
  const int layers = sequence_.size();
  ASSERT_EQ(front_, 6);  // two convolutions, each with its norm and clipped ReLU
  partition::ChosenLayers all(layers, true), none(layers), behind(layers), astride(layers);
  behind[front_] = behind[front_ + 1] = true;
  astride[front_ - 1] = astride[front_] = astride[front_ + 2] = true;
  for (const char* schedule : {"1f1b", "zb-h1"})
    for (const auto& chosen : {none, all, behind, astride}) {
      const std::vector<int> forwards = count(schedule, chosen);
      for (int i = 0; i < layers; ++i)
        EXPECT_EQ(forwards[i], i >= front_ && chosen[i] ? 2 * kMicroBatches : kMicroBatches)
            << fmt::format("{}, layer {}", schedule, i);
    }
}

}  // namespace
}  // namespace penstock::runtime
