#include "runtime/optim/optimizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"

namespace penstock::runtime {
namespace {

using test::assign;
using test::Golden;
using test::numbers;
using test::relative_error;

/// Two parameters of given sizes in one layer that computes in `compute`.
struct TwoParameters {
  explicit TwoParameters(const configs::OptimizerConfig& config, layers::Shape first = {1},
                         layers::Shape second = {1}, layers::DType compute = layers::DType::f32)
      : optimizer(make_optimizer(config)) {
    std::vector<layers::LayerPlan> plans(1);
    plans[0].params = {{"a", first, {layers::Initialiser::Kind::constant, 2}},
                       {"b", second, {layers::Initialiser::Kind::constant, 2}}};
    StoreOptions options;
    options.slots = optimizer->slots().counts();
    options.kinds.compute = compute;
    store = std::make_unique<ParameterStore>(*backend, *stream, plans,
                                             std::span<const std::int64_t>(), options, 1);
    for (const partition::ParameterEntry& p : store->parameters()) gradient(p.index, {0.5});
  }

  layers::Tensor weight(std::int64_t i) const { return store->weight(store->parameters()[i]); }
  void gradient(std::int64_t i, std::vector<double> values) {
    const partition::ParameterEntry& p = store->parameters()[i];
    values.resize(static_cast<std::size_t>(p.elements), values.back());
    assign(store->gradient(p, 0), values);
  }
  void update(UpdateArguments with) {
    std::vector<double> squared_sums(2), room(2);
    backend->run(*stream, layers::SquaredSums{store->table().all(), store->gradient_arena(),
                                              squared_sums.data()});
    with.squared_sums = squared_sums;
    with.room = room.data();
    optimizer->update(*backend, *stream, *store, with);
  }

  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<layers::Backend> backend = layers::make_cpu_backend();
  std::unique_ptr<layers::Stream> stream = backend->make_stream();
  std::unique_ptr<ParameterStore> store;
};

configs::OptimizerConfig kind(const std::string& name) {
  configs::OptimizerConfig config;
  config.kind = name;
  return config;
}

TEST(Optimizers, AdamWMovesByLearningRateAndDecay) {
  configs::OptimizerConfig config;
  config.weight_decay = 0.1;
  config.epsilon = 0;
  TwoParameters two(config);
  two.update({.learning_rate = 0.01, .step = 1});
  for (int i : {0, 1}) EXPECT_NEAR(numbers(two.weight(i))[0], 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
}

TEST(Optimizers, SgdTakesTheClippedGradient) {
  configs::OptimizerConfig config = kind("sgd");
  config.momentum = 0;
  config.nesterov = false;
  config.weight_decay = 0.1;
  TwoParameters two(config);
  two.update({.learning_rate = 1, .factor = {0.5}});
  for (int i : {0, 1}) EXPECT_NEAR(numbers(two.weight(i))[0], 2 - (0.25 + 0.2), 1e-6);
}

/// Follows both parameters of a golden file, whose gradients were multiplied by 0.37.
void follow(const std::string& name, const configs::OptimizerConfig& config, double learning_rate) {
  const Golden golden(name);
  TwoParameters two(config, golden.shape("start.0"), golden.shape("start.1"));
  for (int i : {0, 1}) golden.copy(fmt::format("start.{}", i), two.weight(i));
  const std::int64_t steps = golden.shape("gradients.0")[0];
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto row = [&](const std::string& tensor) {
      const std::vector<double>& all = golden[tensor];
      const std::ptrdiff_t width = golden.shape(tensor)[1];
      return std::vector(all.begin() + (step - 1) * width, all.begin() + step * width);
    };
    for (int i : {0, 1}) two.gradient(i, row(fmt::format("gradients.{}", i)));
    two.update({.learning_rate = learning_rate, .factor = {0.37}, .step = step});
    for (int i : {0, 1})
      EXPECT_LE(relative_error(numbers(two.weight(i)), row(fmt::format("weights.{}", i))), 1e-6)
          << name << ", parameter " << i << ", step " << step;
  }
}

TEST(Optimizers, LambFollowsTimm) {
  configs::OptimizerConfig config = kind("lamb");
  config.beta1 = 0.8;
  config.beta2 = 0.95;
  config.epsilon = 1e-6;
  config.weight_decay = 0.1;
  follow("lamb", config, 0.03);
  config.weight_decay = 0;
  follow("lamb_plain", config, 0.03);
}

TEST(Optimizers, NovoGradFollowsTimm) {
  configs::OptimizerConfig config = kind("novograd");
  config.beta1 = 0.95;
  config.beta2 = 0.98;
  config.epsilon = 1e-6;
  config.weight_decay = 0.1;
  follow("novograd", config, 0.03);
}

TEST(Optimizers, LarcFollowsTimm) {
  configs::OptimizerConfig config = kind("sgd");
  config.weight_decay = 0.05;
  config.larc = 0.02;
  follow("larc", config, 0.1);
}

TEST(Optimizers, LayersReadTheNewWeightsRounded) {
  for (const char* name : {"adamw", "sgd", "lamb", "novograd"}) {
    TwoParameters two(kind(name), {3, 5}, {7}, layers::DType::bf16);
    two.update({.learning_rate = 0.003, .step = 1});
    for (const partition::ParameterEntry& p : two.store->parameters()) {
      const double weight = numbers(two.store->weight(p))[2];
      EXPECT_NE(weight, 2) << name;
      EXPECT_EQ(numbers(two.store->copy(p))[2],
                layers::to_float(layers::to_bfloat16(static_cast<float>(weight))))
          << name;
    }
  }
}

TEST(Optimizers, AParameterOfZerosLeavesItsPlace) {
  for (const char* name : {"lamb", "novograd", "sgd"}) {
    configs::OptimizerConfig config = kind(name);
    config.weight_decay = 0.1;
    config.larc = config.kind == "sgd" ? 0.001 : 0;
    TwoParameters two(config);
    assign(two.weight(0), std::vector<double>{0});
    two.update({.learning_rate = 0.1, .step = 1});
    EXPECT_LT(numbers(two.weight(0))[0], 0) << name;
    EXPECT_GT(numbers(two.weight(0))[0], -1) << name;
  }
}

TEST(Optimizers, NameTheirSlotsForCheckpoints) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(make_optimizer(kind("adamw"))->slots().of_elements, (Names{"mean", "square"}));
  EXPECT_EQ(make_optimizer(kind("lamb"))->slots().of_elements, (Names{"mean", "square"}));
  EXPECT_EQ(make_optimizer(kind("novograd"))->slots().of_elements, Names{"mean"});
  EXPECT_EQ(make_optimizer(kind("novograd"))->slots().of_parameters, Names{"square"});
  EXPECT_EQ(make_optimizer(kind("sgd"))->slots().of_elements, Names{"velocity"});
}

TEST(Optimizers, NovoGradKeepsOneNumberOfAParameter) {
  TwoParameters two(kind("novograd"), {3, 5}, {7});
  two.update({.learning_rate = 0.003, .step = 1});
  const std::vector<partition::ParameterEntry>& all = two.store->parameters();
  EXPECT_EQ(two.store->number(all[0], 0).shape, layers::Shape{1});
  EXPECT_NEAR(numbers(two.store->number(all[0], 0))[0], 15 * 0.25, 1e-12);
  EXPECT_NEAR(numbers(two.store->number(all[1], 0))[0], 7 * 0.25, 1e-12);
}

TEST(Optimizers, AnUnknownKindIsRejected) {
  EXPECT_THROW((void)make_optimizer(kind("adamwx")), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
