#include "layers/losses/transducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/models/rated_layer.h"
#include "tests/layers/losses/labels.h"
#include "tests/layers/losses/plans.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::check_gradients;
using test::Golden;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

using Texts = std::vector<std::vector<std::int32_t>>;

const std::vector<std::int64_t> kLengths = {7, 1, 9, 5};
const Texts kTexts = {
    {1, 2, 2, 1}, {}, {3, 1}, {4, 2, 4, 4, 1, 3}};  // the last has more than frames

TransducerOptions lstm(std::int64_t tile_numbers = 200) {
  return {.name = "transducer",
          .classes = 5,
          .joint = 6,
          .nonlinearity = JointNonlinearity::tanh,
          .prediction = {.embedding = 3, .layers = 2, .hidden = 5},
          .tile_numbers = tile_numbers};
}

TransducerOptions tdt(std::int64_t tile_numbers = 200) {
  TransducerOptions options = lstm(tile_numbers);
  options.durations = {0, 1, 3};
  options.sigma = 0.05;
  return options;
}

TransducerOptions stateless(std::int64_t context) {
  TransducerOptions options = lstm();
  options.prediction = {.kind = PredictionKind::stateless, .embedding = 8, .context = context};
  return options;
}

struct Variant {
  const char* name;
  TransducerOptions options;
};

std::vector<Variant> variants() {
  TransducerOptions relu = tdt();
  relu.nonlinearity = JointNonlinearity::relu;
  return {{"lstm", lstm()},
          {"tdt", tdt()},
          {"tdt with relu", relu},
          {"one label", stateless(1)},
          {"two labels", stateless(2)}};
}

/// The variants, and one whose workspace is mostly that of a tile.
std::vector<Variant> variants_with_a_wide_one() {
  std::vector<Variant> all = variants();
  all.push_back({"wide", stateless(1)});
  all.back().options.classes = 61;
  all.back().options.joint = 17;
  all.back().options.tile_numbers = 1 << 20;
  return all;
}

/// A training pass of one micro-batch.
struct Pass {
  Pass(const TransducerOptions& options, DType dtype, const std::vector<std::int64_t>& lengths,
       const Texts& texts, double scale = 0.25)
      : layer(options),
        labels(texts, scale),
        runner(layer, {dtype, {{lengths, options.joint}}, labels.counts()}) {
    runner.targets = &labels.targets;
    runner.randomise(3);
  }
  void run(bool input_wanted = true) {
    runner.forward();
    runner.backward_input(input_wanted);
    runner.backward_weight();
  }
  std::vector<double> dx() { return numbers(runner.input_gradient().only().x_FC); }
  std::vector<std::vector<double>> grads() {
    std::vector<std::vector<double>> all;
    for (const Tensor& grad : runner.grads()) all.push_back(numbers(grad));
    return all;
  }

  Transducer layer;
  Labels labels;
  LayerRunner runner;
};

/// The layer of tests/golden/cases/transducer_layer.py.
TransducerOptions golden_options(const std::string& kind) {
  TransducerOptions options{.name = "", .classes = 7, .joint = 12, .tile_numbers = 900};
  options.prediction = {.embedding = 12, .layers = 2, .hidden = 12};
  if (kind == "tdt") options.durations = {0, 1, 2, 3, 4};
  if (kind == "tdt") options.sigma = 0.05;
  if (kind != "stateless") return options;
  options.nonlinearity = JointNonlinearity::tanh;
  options.prediction.kind = PredictionKind::stateless;
  return options;
}

class TransducerGolden : public testing::TestWithParam<std::tuple<const char*, DType>> {};

TEST_P(TransducerGolden, AgreesWithPyTorch) {
  const auto [kind, dtype] = GetParam();
  const bool wide = dtype == DType::f64;
  const Golden golden("transducer_layer_" + std::string(kind));
  Pass pass(golden_options(kind), dtype, golden.integers("lengths"), labels_of(golden), 1);
  LayerRunner& runner = pass.runner;
  const auto golden_name = [](const ParamDecl& param) { return param.name.substr(1); };
  golden.copy("x", runner.input().only().x_FC);
  for (std::size_t i = 0; i < runner.params().size(); ++i) {
    const std::string name = golden_name(runner.plan().params[i]);
    EXPECT_EQ(runner.params()[i].shape, golden.shape(name)) << name;
    golden.copy(name, runner.params()[i]);
  }
  pass.run();
  EXPECT_LE(relative_error(pass.labels.losses, golden["losses"]), wide ? 1e-12 : 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), wide ? 1e-7 : 1e-5);
  for (std::size_t i = 0; i < runner.params().size(); ++i) {
    const std::string name = golden_name(runner.plan().params[i]);
    EXPECT_LE(golden.error(runner.grads()[i], "d " + name), wide ? 1e-7 : 1e-5) << name;
  }

  const std::vector<double> in_training = pass.labels.losses;
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(pass.labels.losses, in_training);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransducerGolden,
                         testing::Combine(testing::Values("rnnt", "tdt", "stateless"),
                                          testing::Values(DType::f32, DType::f64)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

TEST(Transducer, HasTheGradientOfFiniteDifferences) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    Pass pass(variant.options, DType::f64, kLengths, kTexts);
    pass.labels.weights = {1, 0.5f, 0, 1};
    check_gradients(pass.runner, {.elements = 60});
  }
}

// Tiles have one frame, a few, or whole utterances. Only sums over tiles may differ.
TEST(Transducer, TilesChangeOnlyTheOrderOfSums) {
  Pass whole(tdt(1 << 20), DType::f32, kLengths, kTexts);
  whole.run();
  for (const std::int64_t tile_numbers : {1, 150, 333}) {
    SCOPED_TRACE(tile_numbers);
    Pass pass(tdt(tile_numbers), DType::f32, kLengths, kTexts);
    pass.run();
    EXPECT_LE(relative_error(pass.labels.losses, whole.labels.losses), 1e-7);
    EXPECT_LE(relative_error(pass.dx(), whole.dx()), 1e-6);
    for (std::size_t i = 0; i < whole.grads().size(); ++i)
      EXPECT_LE(relative_error(pass.grads()[i], whole.grads()[i]), 2e-6) << i;
  }
}

// The prediction network multiplies all texts at once, and products of other sizes may add in
// another order: in FP64 nothing else differs.
TEST(Transducer, AnUtteranceDoesNotSeeTheOthers) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    Pass all(variant.options, DType::f64, kLengths, kTexts);
    all.run();
    std::int64_t first = 0;
    for (std::size_t u = 0; u < kLengths.size(); ++u) {
      Pass alone(variant.options, DType::f64, {kLengths[u]}, {kTexts[u]});
      const std::int64_t count = kLengths[u] * variant.options.joint;
      const auto part = [&](const std::vector<double>& of) {
        return std::vector<double>(of.begin() + first, of.begin() + first + count);
      };
      for (std::size_t i = 0; i < all.runner.params().size(); ++i)
        assign(alone.runner.params()[i], numbers(all.runner.params()[i]));
      assign(alone.runner.input().only().x_FC, part(numbers(all.runner.input().only().x_FC)));
      alone.run();
      EXPECT_NEAR(alone.labels.losses[0], all.labels.losses[u], 1e-12) << u;
      EXPECT_LE(relative_error(alone.dx(), part(all.dx())), 1e-12) << u;
      first += count;
    }
  }
}

// The first utterance has no weight, no sum of durations makes the 3 frames of the second, and the
// third has no frames.
TEST(Transducer, LeavesZerosWhereThereIsNoLoss) {
  TransducerOptions options = tdt();
  options.durations = {0, 2};
  Pass pass(options, DType::f32, {4, 3, 0}, {{1, 2}, {3}, {1}});
  pass.labels.weights[0] = 0;
  pass.run();
  EXPECT_EQ(pass.labels.losses, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(pass.dx(), std::vector<double>(7 * 6));
  for (const auto& grad : pass.grads()) EXPECT_EQ(grad, std::vector<double>(grad.size()));
}

class TransducerHalves : public testing::TestWithParam<DType> {};

TEST_P(TransducerHalves, AreNearFp32) {
  const double unit = GetParam() == DType::f16 ? 0x1p-11 : 0x1p-8 / 2;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    Pass half(variant.options, GetParam(), kLengths, kTexts);
    Pass full(variant.options, DType::f32, kLengths, kTexts);
    assign(full.runner.input().only().x_FC, numbers(half.runner.input().only().x_FC));
    for (std::size_t i = 0; i < full.runner.params().size(); ++i)
      assign(full.runner.params()[i], numbers(half.runner.params()[i]));
    half.run();
    full.run();
    EXPECT_LE(relative_error(half.labels.losses, full.labels.losses), 2 * unit);
    EXPECT_LE(relative_error(half.dx(), full.dx()), 20 * unit);
    for (std::size_t i = 0; i < full.grads().size(); ++i) {
      EXPECT_EQ(half.runner.grads()[i].dtype, DType::f32);
      EXPECT_LE(relative_error(half.grads()[i], full.grads()[i]), 20 * unit)
          << full.runner.plan().params[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TransducerHalves, testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Without memory that is lent to the stream, each copy in FP32 has its own.
TEST_P(TransducerHalves, CopiesOverlapNoOtherMemory) {
  for (const Variant& variant : variants_with_a_wide_one()) {
    SCOPED_TRACE(variant.name);
    Pass lent(variant.options, GetParam(), kLengths, kTexts);
    Pass apart(variant.options, GetParam(), kLengths, kTexts);
    lent.run();
    const std::unique_ptr<Backend> backend = make_cpu_backend();
    const std::unique_ptr<Stream> stream = backend->make_stream();
    const Workspace& sizes = apart.runner.plan().workspace;
    test::GuardedMemory room(std::max(sizes.forward, sizes.backward_input));
    Context context{*backend, *stream, Mode::train, kLengths, {}, room.bytes()};
    context.targets = &apart.labels.targets;
    LayerRunner& runner = apart.runner;
    const Params params{runner.params(), {}};
    apart.layer.forward(context, params, runner.input(), runner.output(), runner.saved());
    apart.layer.backward_input(context, params, {}, runner.saved(), runner.input_gradient());
    apart.layer.backward_weight(context, runner.saved(), runner.grads());
    EXPECT_EQ(lent.labels.losses, apart.labels.losses);
    EXPECT_EQ(lent.dx(), apart.dx());
    EXPECT_EQ(lent.grads(), apart.grads());
  }
}

TEST(Transducer, FrozenItComputesTheInputGradientAlone) {
  Pass trained(tdt(), DType::f32, kLengths, kTexts);
  trained.run();
  const std::size_t parameters = trained.runner.params().size();
  const RatedLayer frozen(std::make_unique<Transducer>(tdt()),
                          {std::vector<double>(parameters), true});
  Labels labels(kTexts, 0.25);
  LayerRunner runner(frozen, {DType::f32, {{kLengths, 6}}, labels.counts()});
  runner.targets = &labels.targets;
  runner.randomise(3);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(labels.losses, trained.labels.losses);
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC), trained.dx());
  std::size_t kept = 0, all = 0;
  for (const SavedDecl& decl : runner.plan().saved)
    if (decl.kind == SavedDecl::Kind::own) ++kept;
  for (const SavedDecl& decl : trained.runner.plan().saved)
    if (decl.kind == SavedDecl::Kind::own) ++all;
  EXPECT_EQ(kept, 3u);  // ids, scores and the rows of the prediction network
  EXPECT_GT(all, kept);
}

TEST(Transducer, KeepsFewNumbersOfEachCell) {
  const Transducer layer(tdt());
  const LayerPlan plan =
      layer.plan({DType::bf16, {{{7, 3}, 6}}, {4, 2}}, {DeviceKind::cpu, DType::bf16});
  EXPECT_EQ(plan.saved[1].shape, (Shape{5 + 3}));
  EXPECT_EQ(plan.saved[2].shape, (Shape{7 * 5 + 3 * 3, 2 + 3}));
  EXPECT_EQ(plan.saved[2].dtype, DType::f32);
  EXPECT_EQ(plan.saved[3].dtype, DType::bf16);
  EXPECT_TRUE(plan.needs_targets);
  EXPECT_TRUE(plan.output.frames.empty());
}

// tests/measure/transducer_loss measured 518 MB for a pass of transformers' tdt_loss and its joint
// network over 250 frames, 80 labels, 1,025 classes and five durations. An embedding of one channel
// leaves next to nothing of the prediction network.
TEST(Transducer, TakesAFiftiethOfTransformersMemory) {
  TransducerOptions options = stateless(1);
  options.classes = 1025;
  options.joint = 640;
  options.durations = {0, 1, 2, 3, 4};
  options.prediction.embedding = 1;
  options.tile_numbers = 0;
  const LayerPlan plan = Transducer(options).plan({DType::f32, {{{250}, 640}}, {80}}, {});
  const Workspace& work = plan.workspace;
  std::size_t bytes = std::max({work.forward, work.backward_input, work.backward_weight});
  for (const SavedDecl& saved : plan.saved)
    if (saved.kind == SavedDecl::Kind::own)
      bytes += static_cast<std::size_t>(element_count(saved.shape)) * size_of(saved.dtype);
  EXPECT_LT(bytes, 518'000'000u / 50);
}

TEST(Transducer, NeedsNoLessForMoreFramesOrLabels) {
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda})
    for (const Variant& variant : variants()) {
      const Transducer layer(variant.options);
      const auto plan = [&](std::int64_t frames, std::int64_t labels) {
        return layer.plan({DType::bf16, {{{9, frames}, 6}}, {4, labels}}, {device, DType::bf16});
      };
      for (std::int64_t frames = 1; frames < 40; frames += 3)
        for (std::int64_t labels = 0; labels < 20; ++labels) {
          expect_no_less(plan(frames, labels), plan(frames + 1, labels));
          expect_no_less(plan(frames, labels), plan(frames, labels + 1));
        }
    }
}

TEST(Transducer, PlansForAUsualNumberOfLabels) {
  const Transducer layer(lstm());
  const LayerPlan usual = layer.plan({DType::f32, {{{50, 7}, 6}}}, {});
  const LayerPlan known = layer.plan({DType::f32, {{{50, 7}, 6}}, {10, 1}}, {});
  EXPECT_EQ(usual.saved[2].shape, known.saved[2].shape);
  EXPECT_EQ(usual.flops.forward, known.flops.forward);
}

TEST(Transducer, RejectsLabelsThatAreNoClasses) {
  for (const std::int32_t label : {0, 5, -1}) {
    Pass pass(lstm(), DType::f32, {3}, {{label}});
    EXPECT_THROW(pass.runner.forward(), ShapeError) << label;
    pass.runner.targets = nullptr;
    EXPECT_THROW(pass.runner.forward(), ShapeError) << "no labels at all";
  }
}

TEST(Transducer, RejectsLabelsThatWereNotPlanned) {
  const Transducer layer(lstm());
  Labels labels({{1, 2, 3}}, 1);
  LayerRunner runner(layer, {DType::f32, {{{5}, 6}}});
  runner.randomise(1);
  runner.targets = &labels.targets;
  EXPECT_THROW(runner.forward(), ShapeError);
}

TEST(Transducer, RejectsWhatIsNoTransducer) {
  const auto with = [](auto change) {
    TransducerOptions options = tdt();
    change(options);
    return Transducer(options);
  };
  EXPECT_NO_THROW(with([](TransducerOptions&) {}));
  EXPECT_THROW(with([](TransducerOptions& o) { o.durations = {1, 1}; }), ShapeError);
  EXPECT_THROW(with([](TransducerOptions& o) { o.durations = {0}; }), ShapeError);
  EXPECT_THROW(with([](TransducerOptions& o) { o.durations.assign(17, 1); }), ShapeError);
  EXPECT_THROW(with([](TransducerOptions& o) { o.classes = 1; }), ShapeError);
  EXPECT_THROW(with([](TransducerOptions& o) { o.joint = 0; }), ShapeError);
  EXPECT_THROW(with([](TransducerOptions& o) { o.tile_numbers = -1; }), ShapeError);
  EXPECT_THROW((void)Transducer(tdt()).plan({DType::f32, {{{3}, 7}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
