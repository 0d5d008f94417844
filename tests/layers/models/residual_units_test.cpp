#include "layers/models/residual_units.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "layers/key_value_cache.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

const ActivationDecl kFrames{DType::f32, {{{7, 1, 13, 5}, 12}}};
const std::vector<std::uint64_t> kPlaces = {3, 1, 4, 15};

std::vector<std::string> params_of(const std::unique_ptr<Layer>& unit) {
  std::vector<std::string> names;
  for (const ParamDecl& param : unit->plan(kFrames, {}).params) names.push_back(param.name);
  return names;
}

/// Share of the numbers to which a unit adds nothing in training.
double untouched(const std::unique_ptr<Layer>& unit) {
  test::LayerRunner runner(*unit, kFrames);
  runner.randomise(3);
  runner.random.utterances = kPlaces;
  runner.forward();
  const auto x = test::numbers(runner.input().only().x_FC);
  const auto y = test::numbers(runner.output().only().x_FC);
  double same = 0;
  for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i] ? 1 : 0;
  return same / static_cast<double>(x.size());
}

TEST(ResidualUnits, HaveNoBiasesButOfNormsIfTold) {
  EXPECT_EQ(params_of(feed_forward_unit({.name = "f", .width = 12, .inner = 20, .bias = false})),
            (std::vector<std::string>{"f.norm.weight", "f.norm.bias", "f.linear1.weight",
                                      "f.linear2.weight"}));
  EXPECT_EQ(params_of(attention_unit({.name = "a", .width = 12, .heads = 3, .bias = false})),
            (std::vector<std::string>{"a.norm.weight", "a.norm.bias", "a.qkv.weight",
                                      "a.output.weight"}));
  EXPECT_EQ(params_of(convolution_unit({.name = "c", .width = 12, .kernel = 5, .bias = false})),
            (std::vector<std::string>{"c.norm.weight", "c.norm.bias", "c.pointwise1.weight",
                                      "c.depthwise.weight", "c.batch_norm.weight",
                                      "c.batch_norm.bias", "c.pointwise2.weight"}));
}

TEST(ResidualUnits, DropWhatTheyAddIfTold) {
  for (const bool dropped : {true, false}) {
    const double share = dropped ? 0.5 : 0;
    EXPECT_NEAR(
        untouched(feed_forward_unit(
            {.name = "f", .width = 12, .inner = 20, .dropout = 0.5, .output_dropout = dropped})),
        share, 0.15);
    EXPECT_NEAR(
        untouched(attention_unit(
            {.name = "a", .width = 12, .heads = 3, .dropout = 0.5, .output_dropout = dropped})),
        share, 0.15);
  }
}

/// The unit of transformers' LlamaAttention with its norm (tests/golden/cases/llama_attention.py).
std::unique_ptr<Layer> llama_unit(std::int64_t width) {
  return attention_unit({.name = "a",
                         .width = width,
                         .heads = 4,
                         .kv_heads = 2,
                         .head_channels = 6,
                         .positions = AttentionPositions::rotary,
                         .rotary_base = 500,
                         .right = 0,
                         .centred = false,
                         .bias = false});
}

/// The unit of transformers' Qwen3Attention with its norm (tests/golden/cases/qwen3_attention.py).
std::unique_ptr<Layer> qwen3_unit(std::int64_t width) {
  return attention_unit({.name = "a",
                         .width = width,
                         .heads = 4,
                         .kv_heads = 2,
                         .head_channels = 6,
                         .positions = AttentionPositions::rotary,
                         .rotary_base = 500,
                         .right = 0,
                         .centred = false,
                         .epsilon = 1e-6,
                         .qk_norm = true,
                         .bias = false});
}

using MakeUnit = std::unique_ptr<Layer> (*)(std::int64_t width);

void expect_golden(MakeUnit make_unit, const char* name) {
  const test::Golden golden(name);
  const std::int64_t width = golden.shape("x")[1];
  const auto unit = make_unit(width);
  test::LayerRunner runner(*unit, {DType::f32, {{golden.integers("lengths"), width}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  for (const ParamDecl& p : runner.plan().params)
    golden.copy(p.name.substr(2), runner.param(p.name));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  for (const ParamDecl& p : runner.plan().params)
    EXPECT_LE(golden.error(runner.grad(p.name), "d" + p.name.substr(2)), 1e-4) << p.name;
}

TEST(ResidualUnits, AttendAsLlamaDoes) { expect_golden(llama_unit, "llama_attention"); }

TEST(ResidualUnits, AttendAsQwen3Does) { expect_golden(qwen3_unit, "qwen3_attention"); }

TEST(ResidualUnits, OfDecodersHaveFiniteDifferencesGradient) {
  for (const MakeUnit make_unit : {llama_unit, qwen3_unit}) {
    const auto unit = make_unit(10);
    test::LayerRunner runner(*unit, {DType::f64, {{{7, 1, 5}, 10}}});
    runner.randomise(3);
    check_gradients(runner);
  }
}

/// Units of a decoder, each with a cache if it needs one, and its parameters.
class CachedUnits {
 public:
  CachedUnits(std::vector<std::unique_ptr<Layer>> units, DType dtype, std::int64_t utterances)
      : units_(std::move(units)), dtype_(dtype), utterances_(utterances), past_(3) {
    for (const auto& unit : units_) {
      const LayerPlan plan = unit->plan({dtype_, {{{1}, kWidth}}}, {});
      const std::int64_t channels = cache_channels(plan, unit->name());
      for (auto* tensors : {&keys_, &values_}) {
        memory_.emplace_back(static_cast<std::size_t>(utterances_ * kRows * channels) *
                             size_of(dtype_));
        tensors->push_back({memory_.back().data(), dtype_, {utterances_, kRows, channels}});
      }
    }
  }

  /// Runs all units over rows of x, with their caches or as a whole.
  std::vector<double> run(std::span<const std::int64_t> lengths, std::vector<double> x,
                          bool cached) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const KeyValueCache cache{keys_[i], values_[i], past_};
      test::LayerRunner runner(*units_[i], {dtype_, {{{lengths.begin(), lengths.end()}, kWidth}}});
      runner.randomise(100 * i);
      test::assign(runner.input().only().x_FC, x);
      runner.mode = Mode::evaluate;
      if (cached) runner.cache = &cache;
      runner.forward();
      x = test::numbers(runner.output().only().x_FC);
    }
    return x;
  }
  std::vector<double> step(const std::vector<std::int64_t>& lengths, const std::vector<double>& x) {
    std::vector<double> y = run(lengths, x, true);
    for (std::size_t u = 0; u < lengths.size(); ++u) past_[u] += lengths[u];
    return y;
  }
  const std::vector<std::int64_t>& past() const { return past_; }

  static constexpr std::int64_t kWidth = 12, kRows = 14;

 private:
  std::vector<std::unique_ptr<Layer>> units_;
  DType dtype_;
  std::int64_t utterances_;
  std::deque<test::GuardedMemory> memory_;
  std::vector<Tensor> keys_, values_;
  std::vector<std::int64_t> past_;
};

/// A block as Llama has it, and one as Qwen3 has it.
std::vector<std::unique_ptr<Layer>> causal_blocks() {
  std::vector<std::unique_ptr<Layer>> units;
  for (const std::string block : {"0", "1"}) {
    units.push_back(attention_unit({.name = block + ".a",
                                    .width = CachedUnits::kWidth,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .head_channels = 6,
                                    .positions = AttentionPositions::rotary,
                                    .rotary_base = 500,
                                    .right = 0,
                                    .centred = false,
                                    .qk_norm = block == "1",
                                    .bias = false,
                                    .dropout = 0.1,
                                    .layer_drop = 0.1}));
    units.push_back(feed_forward_unit({.name = block + ".f",
                                       .width = CachedUnits::kWidth,
                                       .inner = 20,
                                       .activation = GateKind::swiglu,
                                       .centred = false,
                                       .bias = false}));
  }
  return units;
}

TEST(ResidualUnits, StepByStepEqualWholeUtterances) {
  constexpr std::int64_t C = CachedUnits::kWidth;
  const std::vector<std::int64_t> lengths = {7, 1, 13};
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    CachedUnits units(causal_blocks(), dtype, 3);
    const std::vector<double> x = test::uniform(21 * C, 3);
    const std::vector<double> y = units.run(lengths, x, false);
    std::vector<std::int64_t> rows = {3, 1, 6};
    while (units.past() != lengths) {
      const std::vector<std::int64_t> past = units.past();
      const auto taken = [&](const std::vector<double>& all) {
        std::vector<double> of_step;
        std::int64_t first = 0;
        for (std::size_t u = 0; u < 3; first += lengths[u], ++u)
          of_step.insert(of_step.end(), all.begin() + (first + past[u]) * C,
                         all.begin() + (first + past[u] + rows[u]) * C);
        return of_step;
      };
      EXPECT_LE(test::relative_error(units.step(rows, taken(x)), taken(y)), tolerance);
      for (std::size_t u = 0; u < 3; ++u) rows[u] = lengths[u] > units.past()[u] ? 1 : 0;
    }
  }
}

}  // namespace
}  // namespace penstock::layers
