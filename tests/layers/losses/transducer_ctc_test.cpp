#include "layers/losses/transducer_ctc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "base/error.h"
#include "layers/losses/transducer_loss.h"
#include "layers/models/rated_layer.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::Golden;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

using Texts = std::vector<std::vector<std::int32_t>>;

const std::vector<std::int64_t> kFramesOfBoth = {7, 1, 9, 5};
const Texts kTextsOfBoth = {
    {1, 2, 2, 1}, {}, {3, 1}, {4, 2, 4, 4, 1, 3}};  // CTC lacks frames for the last

constexpr std::int64_t kJoint = 6, kClasses = 5;

TransducerOptions small_tdt() {
  return {.name = "transducer",
          .classes = kClasses,
          .joint = kJoint,
          .durations = {0, 1, 3},
          .sigma = 0.05,
          .nonlinearity = JointNonlinearity::tanh,
          .prediction = {.embedding = 3, .layers = 2, .hidden = 5},
          .tile_numbers = 200};
}

/// A training pass of one micro-batch, by any layer that ends a model.
struct BothPass {
  BothPass(std::unique_ptr<Layer> tested, DType dtype, std::int64_t channels,
           const std::vector<std::int64_t>& lengths = kFramesOfBoth,
           const Texts& texts = kTextsOfBoth, double scale = 0.25)
      : layer(std::move(tested)),
        labels(texts, scale),
        runner(*layer, {dtype, {{lengths, channels}}, labels.counts()}) {
    labels.losses.assign(lengths.size() * runner.plan().losses, NAN);
    labels.targets.losses = labels.losses;
    runner.targets = &labels.targets;
    runner.randomise(3);
  }
  void run(bool input_wanted = true) {
    runner.forward();
    runner.backward_input(input_wanted);
    if (runner.plan().trained()) runner.backward_weight();
  }
  std::vector<double> dx() { return numbers(runner.input_gradient().only().x_FC); }
  std::vector<std::vector<double>> grads() {
    std::vector<std::vector<double>> all;
    for (const Tensor& grad : runner.grads()) all.push_back(numbers(grad));
    return all;
  }

  std::unique_ptr<Layer> layer;
  Labels labels;
  LayerRunner runner;
};

std::unique_ptr<Layer> both(double ctc_weight = 0.3,
                            const TransducerOptions& options = small_tdt()) {
  return std::make_unique<TransducerCtc>(options, ctc_weight);
}

BothPass pass_of_both(DType dtype = DType::f32) { return {both(), dtype, kJoint + kClasses}; }

/// Returns columns [first, first + count) of rows of `width` numbers.
std::vector<double> some(const std::vector<double>& rows, std::int64_t width, std::int64_t first,
                         std::int64_t count) {
  return columns(rows, static_cast<std::size_t>(width), static_cast<std::size_t>(first),
                 static_cast<std::size_t>(count));
}

/// Returns the sum of both parts of each utterance's loss.
std::vector<double> sums_of_parts(const std::vector<double>& losses) {
  std::vector<double> sums(losses.begin(), losses.begin() + std::ssize(losses) / 2);
  for (std::size_t u = 0; u < sums.size(); ++u) sums[u] += losses[sums.size() + u];
  return sums;
}

class TransducerCtcGolden : public testing::TestWithParam<std::tuple<const char*, DType>> {};

// The golden values are those of a CTC weight of 0.25, which FP32 holds.
TEST_P(TransducerCtcGolden, AgreesWithPyTorch) {
  const auto [kind, dtype] = GetParam();
  const bool wide = dtype == DType::f64;
  const Golden golden("transducer_ctc_" + std::string(kind));
  TransducerOptions options{.name = "", .classes = 7, .joint = 12, .tile_numbers = 900};
  options.prediction = {.embedding = 12, .layers = 2, .hidden = 12};
  if (std::string(kind) == "tdt") {
    options.durations = {0, 1, 2, 3, 4};
    options.sigma = 0.05;
  }
  BothPass pass(both(0.25, options), dtype, 12 + 7, golden.integers("lengths"), labels_of(golden),
                1);
  LayerRunner& runner = pass.runner;
  golden.copy("x", runner.input().only().x_FC);
  for (std::size_t i = 0; i < runner.params().size(); ++i)
    golden.copy(runner.plan().params[i].name.substr(1), runner.params()[i]);
  pass.run();
  EXPECT_LE(relative_error(sums_of_parts(pass.labels.losses), golden["losses"]),
            wide ? 1e-12 : 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), wide ? 1e-7 : 1e-5);
  for (std::size_t i = 0; i < runner.params().size(); ++i) {
    const std::string name = runner.plan().params[i].name.substr(1);
    EXPECT_LE(golden.error(runner.grads()[i], "d " + name), wide ? 1e-7 : 1e-5) << name;
  }

  const std::vector<double> in_training = pass.labels.losses;
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(pass.labels.losses, in_training);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransducerCtcGolden,
                         testing::Combine(testing::Values("rnnt", "tdt"),
                                          testing::Values(DType::f32, DType::f64)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

TEST(TransducerCtc, HasTheGradientOfFiniteDifferences) {
  BothPass pass = pass_of_both(DType::f64);
  pass.labels.weights = {1, 0.5f, 0, 1};
  test::check_gradients(pass.runner, {.elements = 60});
}

// Weights of 1/4 and 3/4 multiply exactly but for the last roundings.
TEST(TransducerCtc, IsTheWeightedSumOfBothLosses) {
  BothPass hybrid(both(0.25), DType::f64, kJoint + kClasses);
  BothPass transducer(std::make_unique<Transducer>(small_tdt()), DType::f64, kJoint);
  BothPass ctc(std::make_unique<Ctc>("ctc"), DType::f64, kClasses);
  const std::vector<double> x = numbers(hybrid.runner.input().only().x_FC);
  const std::int64_t width = kJoint + kClasses;
  assign(transducer.runner.input().only().x_FC, some(x, width, 0, kJoint));
  assign(ctc.runner.input().only().x_FC, some(x, width, kJoint, kClasses));
  for (std::size_t i = 0; i < hybrid.runner.params().size(); ++i)
    assign(transducer.runner.params()[i], numbers(hybrid.runner.params()[i]));
  for (BothPass* pass : {&hybrid, &transducer, &ctc}) {
    pass->labels.weights = {1, 0.5f, 0, 1};
    pass->run();
  }
  std::vector<double> expected = transducer.labels.losses, dj = transducer.dx(), dv = ctc.dx();
  for (double& loss : expected) loss *= 0.75;
  for (const double loss : ctc.labels.losses) expected.push_back(0.25 * loss);
  EXPECT_LE(relative_error(hybrid.labels.losses, expected), 1e-15);
  for (double& number : dj) number *= 0.75;
  for (double& number : dv) number *= 0.25;
  EXPECT_LE(relative_error(some(hybrid.dx(), width, 0, kJoint), dj), 1e-13);
  EXPECT_LE(relative_error(some(hybrid.dx(), width, kJoint, kClasses), dv), 1e-13);
  EXPECT_EQ(hybrid.labels.losses[2], 0);      // the utterance without a weight
  EXPECT_EQ(hybrid.labels.losses[4 + 3], 0);  // CTC has no path
  EXPECT_GT(hybrid.labels.losses[3], 0);
}

class TransducerCtcHalves : public testing::TestWithParam<DType> {};

TEST_P(TransducerCtcHalves, AreNearFp32) {
  const double unit = GetParam() == DType::f16 ? 0x1p-11 : 0x1p-8 / 2;
  BothPass half = pass_of_both(GetParam()), full = pass_of_both();
  assign(full.runner.input().only().x_FC, numbers(half.runner.input().only().x_FC));
  for (std::size_t i = 0; i < full.runner.params().size(); ++i)
    assign(full.runner.params()[i], numbers(half.runner.params()[i]));
  half.run();
  full.run();
  EXPECT_LE(relative_error(half.labels.losses, full.labels.losses), 2 * unit);
  EXPECT_LE(relative_error(half.dx(), full.dx()), 20 * unit);
  for (std::size_t i = 0; i < full.grads().size(); ++i)
    EXPECT_LE(relative_error(half.grads()[i], full.grads()[i]), 20 * unit) << i;
}

INSTANTIATE_TEST_SUITE_P(Types, TransducerCtcHalves, testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(TransducerCtc, FrozenItComputesTheInputGradientAlone) {
  BothPass trained = pass_of_both();
  trained.run();
  const std::vector<double> no_rates(trained.runner.params().size());
  BothPass frozen(std::make_unique<RatedLayer>(both(), RatedLayer::Rates{no_rates, true}),
                  DType::f32, kJoint + kClasses);
  frozen.run();
  EXPECT_EQ(frozen.labels.losses, trained.labels.losses);
  EXPECT_EQ(frozen.dx(), trained.dx());
  const auto own = [](const LayerPlan& plan) {
    return std::ranges::count(plan.saved, SavedDecl::Kind::own, &SavedDecl::kind);
  };
  EXPECT_EQ(own(frozen.runner.plan()),
            5);  // those of a frozen transducer, its input, CTC's gradient
  EXPECT_GT(own(trained.runner.plan()), 5);
}

TEST(TransducerCtc, KeepsCopiesOfNoOtherColumns) {
  const auto layer = both();
  const LayerPlan plan =
      layer->plan({DType::bf16, {{{7, 3}, kJoint + kClasses}}}, {DeviceKind::cpu, DType::bf16});
  EXPECT_EQ(plan.saved.front().shape, (Shape{10, kJoint}));
  EXPECT_EQ(plan.saved.front().dtype, DType::bf16);
  EXPECT_EQ(plan.saved.back().shape, (Shape{10, kClasses}));
  EXPECT_EQ(plan.saved.back().dtype, DType::f32);
  for (const SavedDecl& saved : plan.saved) EXPECT_NE(saved.kind, SavedDecl::Kind::input);
}

TEST(TransducerCtc, SaysWhatDoesNotFit) {
  EXPECT_THROW(TransducerCtc(small_tdt(), 1), ShapeError);
  EXPECT_THROW(TransducerCtc(small_tdt(), 0), ShapeError);
  const std::string channels = test::message_of<ShapeError>([] {
    (void)both()->plan({DType::f32, {{{3}, kJoint}}}, {});
  });
  EXPECT_EQ(channels,
            "transducer was given 6 channels, expected the 6 of its joint network and its 5 "
            "classes");
  BothPass pass = pass_of_both();
  pass.labels.targets.losses = std::span(pass.labels.losses).first(4);
  EXPECT_THROW(pass.runner.forward(), ShapeError);
}

TEST(TransducerCtcLoss, NeedsTheFramesOfBoth) {
  const Loss loss = transducer_ctc_loss(small_tdt(), 0.3);
  EXPECT_EQ(loss.frames_needed(std::vector<std::int32_t>{2, 2, 2}), 5);  // CTC's
  TransducerOptions slow = small_tdt();
  slow.durations = {3, 4};
  EXPECT_EQ(transducer_ctc_loss(slow, 0.3).frames_needed(std::vector<std::int32_t>{2}), 6);
  EXPECT_EQ(loss.channels(9), kJoint + 9);
}

/// Random numbers.
std::vector<float> frames_of(std::int64_t count, std::int64_t channels) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(static_cast<std::size_t>(count * channels));
  std::ranges::generate(x, [&] { return normal(random); });
  return x;
}

TEST(TransducerCtcLoss, DecodesEitherHalf) {
  const Loss loss = transducer_ctc_loss(small_tdt(), 0.3);
  const std::int64_t width = kJoint + kClasses;
  const std::vector<float> x = frames_of(13, width);
  std::vector<float> logits, encoded;
  for (std::int64_t t = 0; t < 13; ++t) {
    const auto row = x.begin() + t * width;
    encoded.insert(encoded.end(), row, row + kJoint);
    logits.insert(logits.end(), row + kJoint, row + width);
  }
  const auto by_ctc = loss.make_ctc_decoder()(x, width, kClasses);
  EXPECT_EQ(by_ctc.front().labels, ctc_greedy_labels(logits, kClasses, kClasses));
  EXPECT_FALSE(by_ctc.front().labels.empty());

  BothPass random(both(), DType::f32, width);
  std::vector<HostParameter> parameters;
  for (const Tensor& p : random.runner.params()) {
    const std::vector<double> values = numbers(p);
    parameters.push_back({p.shape, {values.begin(), values.end()}});
  }
  const auto by_transducer = loss.make_decoder(parameters, {})(x, width, kClasses);
  EXPECT_EQ(by_transducer,
            transducer_loss(small_tdt()).make_decoder(parameters, {})(encoded, kJoint, kClasses));
  EXPECT_FALSE(by_transducer.front().labels.empty());
  EXPECT_THROW((void)loss.make_ctc_decoder()(x, kJoint - 1, 1), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
