#include "runtime/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock {
namespace {

/// Two parameters of one number each. Both decay, as PyTorch has it for weights and biases alike.
class Optimizers : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<LayerPlan> plans(1);
    plans[0].params = {{"w", {1}, {Initialiser::Kind::constant, 2}},
                       {"b", {1}, {Initialiser::Kind::constant, 2}}};
    store_ = std::make_unique<ParameterStore>(*backend_, *stream_, plans, 0, StoreOptions{}, 1);
    for (const ParameterEntry& p : store_->parameters()) *store_->gradient(p, 0).as<float>() = 0.5f;
  }
  float weight(int i) const { return *store_->weight(store_->parameters()[i]).as<float>(); }
  void update(const OptimizerConfig& config, UpdateArguments with) {
    make_optimizer(config)->update(*backend_, *stream_, *store_, with);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
  std::unique_ptr<ParameterStore> store_;
};

TEST_F(Optimizers, AdamWMovesByTheLearningRateAndDecaysAll) {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  config.epsilon = 0;
  update(config, {.learning_rate = 0.01, .step = 1});
  for (int i : {0, 1}) EXPECT_NEAR(weight(i), 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
}

TEST_F(Optimizers, SgdTakesTheClippedGradient) {
  OptimizerConfig config;
  config.kind = "sgd";
  config.momentum = 0;
  config.nesterov = false;
  config.weight_decay = 0.1;
  update(config, {.learning_rate = 1, .gradient_factor = 0.5});
  for (int i : {0, 1}) EXPECT_NEAR(weight(i), 2 - (0.25 + 0.2), 1e-6);
}

TEST_F(Optimizers, NamesItsSlotsForCheckpoints) {
  OptimizerConfig config;
  EXPECT_EQ(make_optimizer(config)->slots(), (std::vector<std::string>{"mean", "square"}));
  config.kind = "sgd";
  EXPECT_EQ(make_optimizer(config)->slots(), std::vector<std::string>{"velocity"});
}

TEST_F(Optimizers, AnUnknownKindIsRefused) {
  OptimizerConfig config;
  config.kind = "adamwx";
  EXPECT_THROW(make_optimizer(config), ConfigError);
}

}  // namespace
}  // namespace penstock
