#include "layers/nn/cross_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/key_value_cache.h"
#include "layers/models/lora.h"
#include "layers/models/rated_layer.h"
#include "layers/models/residual_units.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kMemories = {9, 1, 5, 67};
const std::vector<std::int64_t> kTexts = {3, 2, 70, 5};  // 70: more than one tile
const std::vector<std::uint64_t> kCrossUtterances = {4, 8, 15, 16};

std::unique_ptr<Layer> unit_of(double dropout = 0, std::int64_t kv_heads = 0) {
  return cross_attention_unit({.name = "cross",
                               .width = 6,
                               .heads = 4,
                               .kv_heads = kv_heads,
                               .head_channels = 3,
                               .dropout = dropout});
}

ActivationDecl decl_of(DType dtype, const std::vector<std::int64_t>& memories,
                       const std::vector<std::int64_t>& texts) {
  return {dtype, {{memories, 6}, {texts, 6}}};
}

TEST(CrossAttentionUnitTest, HasTheGradientOfFiniteDifferences) {
  for (const double dropout : {0.0, 0.3})
    for (const std::int64_t kv_heads : {0, 2}) {
      const auto unit = unit_of(dropout, kv_heads);
      LayerRunner runner(*unit, decl_of(DType::f64, kMemories, kTexts));
      runner.random.utterances = kCrossUtterances;
      runner.randomise(3);
      check_gradients(runner, {.elements = 40});
    }
}

TEST(CrossAttentionUnitTest, PassesTheMemoryAndAddsItsGradient) {
  const auto unit = unit_of();
  LayerRunner runner(*unit, decl_of(DType::f32, kMemories, kTexts));
  runner.randomise(5);
  runner.forward();
  const auto memory = [](Activation& activation) { return numbers(activation.frames[0].x_FC); };
  EXPECT_EQ(memory(runner.output()), memory(runner.input()));
  for (const Tensor& weights : runner.params())
    test::assign(weights, std::vector<double>(static_cast<std::size_t>(weights.size())));
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(memory(runner.input_gradient()), memory(runner.output_gradient()));
}

TEST(CrossAttentionUnitTest, AnUtteranceIgnoresItsNeighbours) {
  const auto unit = unit_of();
  LayerRunner packed(*unit, decl_of(DType::f64, kMemories, kTexts)),
      alone(*unit, decl_of(DType::f64, {67}, {5}));
  packed.randomise(7);
  for (std::size_t i = 0; i < packed.params().size(); ++i)
    test::assign(alone.params()[i], numbers(packed.params()[i]));
  for (std::size_t matrix : {0u, 1u}) {
    const std::vector<double> x = numbers(packed.input().frames[matrix].x_FC);
    const Tensor& to = alone.input().frames[matrix].x_FC;
    test::assign(to, {x.end() - to.size(), x.end()});
  }
  packed.forward();
  alone.forward();
  const std::vector<double> y = numbers(packed.output().frames[1].x_FC);
  EXPECT_LE(test::relative_error(numbers(alone.output().frames[1].x_FC), {y.end() - 30, y.end()}),
            1e-12);
}

TEST(CrossAttentionUnitTest, EvaluatesAsItTrains) {
  const auto unit = unit_of();
  LayerRunner runner(*unit, decl_of(DType::f32, kMemories, kTexts));
  runner.randomise(7);
  runner.forward();
  const std::vector<double> trained = numbers(runner.output().frames[1].x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().frames[1].x_FC), trained);
}

TEST(CrossAttentionUnitTest, HalvesAreThoseOfFP32Rounded) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto unit = unit_of();
    LayerRunner half(*unit, decl_of(dtype, kMemories, kTexts)),
        full(*unit, decl_of(DType::f32, kMemories, kTexts));
    half.randomise(9);
    const auto copy = [](const Tensor& from, const Tensor& to) { test::assign(to, numbers(from)); };
    for (std::size_t matrix : {0u, 1u}) {
      copy(half.input().frames[matrix].x_FC, full.input().frames[matrix].x_FC);
      copy(half.output_gradient().frames[matrix].x_FC, full.output_gradient().frames[matrix].x_FC);
    }
    for (std::size_t i = 0; i < half.params().size(); ++i) copy(half.params()[i], full.params()[i]);
    for (LayerRunner* const runner : {&half, &full}) {
      runner->forward();
      runner->backward_input();
      runner->backward_weight();
    }
    const double tolerance = dtype == DType::f16 ? 1e-2 : 8e-2;
    for (std::size_t matrix : {0u, 1u}) {
      EXPECT_LE(test::relative_error(numbers(half.output().frames[matrix].x_FC),
                                     numbers(full.output().frames[matrix].x_FC)),
                tolerance);
      EXPECT_LE(test::relative_error(numbers(half.input_gradient().frames[matrix].x_FC),
                                     numbers(full.input_gradient().frames[matrix].x_FC)),
                tolerance);
    }
    for (std::size_t i = 0; i < half.grads().size(); ++i)
      EXPECT_LE(test::relative_error(numbers(half.grads()[i]), numbers(full.grads()[i])), tolerance)
          << half.plan().params[i].name;
  }
}

// Later rows get the same from the cached keys and values as in a pass over all rows.
TEST(CrossAttentionUnitTest, GoesOnFromItsCache) {
  const std::vector<std::int64_t> memories = {5, 1, 67}, first = {2, 1, 3}, next = {1, 0, 1},
                                  none = {0, 0, 0}, all = {3, 1, 4};
  const auto unit = unit_of(0, 2);
  LayerRunner whole(*unit, decl_of(DType::f32, memories, all)),
      begun(*unit, decl_of(DType::f32, memories, first)),
      gone_on(*unit, decl_of(DType::f32, none, next));
  whole.randomise(4);
  EXPECT_EQ(whole.plan().cache_channels, 6);
  EXPECT_TRUE(whole.plan().caches_memory);
  std::vector<float> keys(3 * 70 * 6), values(3 * 70 * 6);
  const KeyValueCache cache{{reinterpret_cast<std::byte*>(keys.data()), DType::f32, {3, 70, 6}},
                            {reinterpret_cast<std::byte*>(values.data()), DType::f32, {3, 70, 6}},
                            memories};
  for (LayerRunner* const runner : {&begun, &gone_on}) {
    for (std::size_t i = 0; i < whole.params().size(); ++i)
      test::assign(runner->params()[i], numbers(whole.params()[i]));
    runner->cache = &cache;
  }
  for (LayerRunner* const runner : {&whole, &begun, &gone_on}) runner->mode = Mode::evaluate;
  test::assign(begun.input().frames[0].x_FC, numbers(whole.input().frames[0].x_FC));
  const std::vector<double> x = numbers(whole.input().frames[1].x_FC);
  const auto row = [](const std::vector<double>& rows, std::int64_t r) {
    return std::vector<double>(rows.begin() + r * 6, rows.begin() + (r + 1) * 6);
  };
  std::vector<double> of_next = row(x, 2);
  const std::vector<double> last = row(x, 7);
  of_next.insert(of_next.end(), last.begin(), last.end());
  test::assign(gone_on.input().frames[1].x_FC, of_next);
  test::assign(begun.input().frames[1].x_FC, std::vector<double>(36, 0.5));
  whole.forward();
  begun.forward();
  gone_on.forward();
  const std::vector<double> y = numbers(whole.output().frames[1].x_FC),
                            next_y = numbers(gone_on.output().frames[1].x_FC);
  EXPECT_LE(test::relative_error(row(next_y, 0), row(y, 2)), 1e-6);
  EXPECT_LE(test::relative_error(row(next_y, 1), row(y, 7)), 1e-6);
}

// Frozen keys still pass the gradient to the memory.
TEST(CrossAttentionUnitTest, FrozenKeysPassTheirGradient) {
  const auto trained = unit_of();
  std::unique_ptr<Layer> frozen = unit_of();
  const ActivationDecl decl = decl_of(DType::f32, kMemories, kTexts);
  std::vector<double> rates;
  for (const ParamDecl& p : trained->plan(decl, {}).params)
    rates.push_back(p.name.starts_with("cross.kv") ? 0 : 1);
  rate_layer(frozen, {rates, true});
  LayerRunner a(*trained, decl), b(*frozen, decl);
  for (LayerRunner* const runner : {&a, &b}) {
    runner->randomise(2);
    runner->forward();
    runner->backward_input();
    runner->backward_weight();
  }
  for (std::size_t matrix : {0u, 1u})
    EXPECT_EQ(numbers(a.input_gradient().frames[matrix].x_FC),
              numbers(b.input_gradient().frames[matrix].x_FC));
  EXPECT_EQ(numbers(a.grad("cross.q.weight")), numbers(b.grad("cross.q.weight")));
  EXPECT_EQ(b.grad("cross.kv.weight").data, nullptr);
}

// The product of keys and values reads the memory, so adaptation finds it within another layer.
TEST(CrossAttentionUnitTest, AdaptsKeysAndValuesAlone) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(unit_of());
  EXPECT_EQ(std::ranges::count(adaptable_layers(layers), "cross.kv"), 1);
  adapt_layers(layers, {.rank = 2, .alpha = 3},
               [](const std::string& name) { return name == "cross.kv"; });
  const ActivationDecl decl = decl_of(DType::f64, kMemories, kTexts);
  std::vector<double> rates;
  for (const ParamDecl& p : layers[0]->plan(decl, {}).params)
    rates.push_back(is_lora_parameter(p.name) ? 1 : 0);
  EXPECT_EQ(std::ranges::count(rates, 1.0), 2);
  rate_layer(layers[0], {rates, true});
  LayerRunner runner(*layers[0], decl);
  runner.randomise(7);
  check_gradients(runner, {.elements = 40});
  for (const char* frozen : {"cross.kv.weight", "cross.q.weight", "cross.output.weight"})
    EXPECT_EQ(runner.grad(frozen).data, nullptr) << frozen;
}

TEST(CrossAttentionUnitTest, CountsPairsOfRows) {
  const CrossAttention core({.name = "core", .channels = 12, .heads = 4});
  ActivationDecl input{DType::f32, {{{3, 2}, 12}}};
  input.memory = {9, 5};
  EXPECT_EQ(core.plan(input, {}).flops.forward, 2 * 2 * 12 * (3 * 9 + 2 * 5));
  EXPECT_EQ(core.plan(input, {}).flops.backward_input, 5 * 2 * 12 * (3 * 9 + 2 * 5));
}

TEST(CrossAttentionUnitTest, RejectsWhatIsNoMemory) {
  const auto unit = unit_of();
  EXPECT_THROW((void)unit->plan({DType::f32, {{{3}, 6}}}, {}), ShapeError);
  EXPECT_THROW((void)unit->plan(decl_of(DType::f32, {3, 4}, {3}), {}), ShapeError);
  LayerRunner empty(*unit, decl_of(DType::f32, {3, 0}, {2, 2}));
  empty.randomise(1);
  EXPECT_THROW(empty.forward(), ShapeError);
  EXPECT_THROW(CrossAttention({.name = "core", .channels = 10, .heads = 4}), ShapeError);
  EXPECT_THROW(CrossAttention({.name = "core", .channels = 12, .heads = 4, .kv_heads = 3}),
               ShapeError);
  EXPECT_THROW(CrossAttention({.name = "core", .channels = 12, .heads = 4, .dropout = 1}),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
