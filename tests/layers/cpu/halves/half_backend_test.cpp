#include "layers/cpu/halves/half_backend.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/losses/ctc.h"
#include "layers/nn/attention.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/depthwise_conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/head_norm.h"
#include "layers/nn/instance_norm.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "layers/nn/residual.h"
#include "layers/nn/sinusoidal_positions.h"
#include "layers/nn/span_mask.h"
#include "tests/support/layers/layer_runner.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::numbers;

/// Nine halves to read, seven to write, and two aligned rooms to lend for their copies.
class WideningTest : public testing::Test {
 protected:
  static constexpr std::size_t kRoom = 2 * kAlignment;

  WideningTest() {
    assign(read_, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
    assign(written_, std::vector<double>(7, -1));
  }
  void widen(std::span<std::byte> workspace) {
    const WorkspaceScope lending(*stream_, workspace);
    Widening widening(backend_, *stream_);
    Tensor read = read_, written = written_;
    widening.reads(read);
    widening.writes(written);
    EXPECT_EQ(read.dtype, DType::f32);
    EXPECT_EQ(numbers(read), numbers(read_));
    places_ = {static_cast<std::byte*>(read.data), static_cast<std::byte*>(written.data)};
    assign(written, std::vector<double>{1.00390625, 2, 3, 4, 5, 6, 7});
    widening.round();
  }

  CpuBackend backend_{1};
  std::unique_ptr<Stream> stream_ = backend_.make_stream({});
  Buffer halves_ = host_buffer(kRoom), workspace_ = host_buffer(kRoom + kAlignment);
  Tensor read_{halves_.data(), DType::bf16, {9}};
  Tensor written_{halves_.data() + kAlignment, DType::bf16, {7}};
  std::vector<std::byte*> places_;
};

TEST_F(WideningTest, TakesTheEndOfWhatWasLent) {
  widen({workspace_.data(), kRoom + 63});  // 63 bytes lie after the last boundary
  EXPECT_EQ(places_, (std::vector{workspace_.data() + kAlignment, workspace_.data()}));
  EXPECT_EQ(numbers(written_), (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(stream_->lent().data(), nullptr);
}

TEST_F(WideningTest, NeverTakesMoreThanWasLent) {
  for (const std::size_t bytes : {kRoom - 1, kAlignment, std::size_t{0}})
    EXPECT_THROW(widen({workspace_.data(), bytes}), ShapeError) << bytes;
}

TEST_F(WideningTest, HasOwnMemoryWhereNothingWasLent) {
  widen({});
  EXPECT_EQ(numbers(written_), (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
}

using test::assign;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

const std::vector<std::int64_t> kLengths = {7, 1, 13, 5};
const std::vector<std::uint64_t> kUtterances = {4, 8, 15, 16};

struct Case {
  std::string name;
  std::shared_ptr<Layer> layer;
  std::int64_t channels;
};

std::vector<Case> convolutions() {
  const Conv2dAxis axis{.kernel = 3, .stride = 2, .padding = 1};
  return {{"convolution",
           std::make_shared<Conv2d>(Conv2dOptions{.name = "c",
                                                  .in_channels = 2,
                                                  .out_channels = 3,
                                                  .in_frequencies = 5,
                                                  .frequency = axis,
                                                  .time = {.kernel = 3, .stride = 1, .padding = 1},
                                                  .bias = true}),
           10},
          {"convolution over frames",
           std::make_shared<Conv1d>(Conv1dOptions{.name = "c",
                                                  .in_channels = 6,
                                                  .out_channels = 9,
                                                  .groups = 3,
                                                  .kernel = 3,
                                                  .stride = 2,
                                                  .left = 1,
                                                  .right = 1}),
           6},
          {"depthwise",
           std::make_shared<DepthwiseConv1d>(
               DepthwiseConv1dOptions{.name = "a", .channels = 7, .kernel = 4, .left = 2}),
           7},
          {"depthwise image",
           std::make_shared<Conv2d>(Conv2dOptions{.name = "a",
                                                  .in_channels = 3,
                                                  .out_channels = 3,
                                                  .in_frequencies = 5,
                                                  .frequency = axis,
                                                  .time = axis,
                                                  .bias = true,
                                                  .depthwise = true}),
           15},
          {"gated depthwise",
           std::make_shared<DepthwiseConv1d>(DepthwiseConv1dOptions{
               .name = "a", .channels = 7, .kernel = 4, .left = 2, .bias = true, .gated = true}),
           14}};
}

std::vector<Case> recurrences() {
  std::vector<Case> cases;
  for (const auto& [name, kind, gates] : {std::tuple{"tanh", RecurrenceKind::tanh, 1},
                                          {"gru", RecurrenceKind::gru, 3},
                                          {"lstm", RecurrenceKind::lstm, 4}})
    cases.push_back({name,
                     std::make_shared<Recurrence>(RecurrenceOptions{
                         .name = "r", .kind = kind, .directions = 2, .hidden = 5}),
                     2 * 5 * gates});
  return cases;
}

std::shared_ptr<Layer> residual() {
  ResidualOptions options;
  options.name = "u";
  options.channels = 8;
  options.scale = 0.5;
  options.parts.push_back(
      std::make_unique<LayerNorm>(LayerNormOptions{.name = "u.norm", .channels = 8}));
  options.parts.push_back(
      std::make_unique<Linear>(LinearOptions{.name = "u.linear", .in = 8, .out = 8}));
  return std::make_shared<Residual>(std::move(options));
}

std::vector<Case> all_layers() {
  std::vector<Case> cases = {
      {"linear", std::make_shared<Linear>(LinearOptions{.name = "l", .in = 7, .out = 9}), 7},
      {"linear, partly without bias",
       std::make_shared<Linear>(
           LinearOptions{.name = "l", .in = 7, .out = 9, .first_unbiased = 3, .unbiased = 4}),
       7},
      {"norm", std::make_shared<BatchNorm>(BatchNormOptions{.name = "n", .channels = 7}), 7},
      {"norm with silu",
       std::make_shared<BatchNorm>(BatchNormOptions{.name = "n", .channels = 7, .silu = true}), 7},
      {"instance norm",
       std::make_shared<InstanceNorm>(InstanceNormOptions{.name = "n", .channels = 7}), 7},
      {"layer norm", std::make_shared<LayerNorm>(LayerNormOptions{.name = "n", .channels = 7}), 7},
      {"rms norm",
       std::make_shared<LayerNorm>(
           LayerNormOptions{.name = "n", .channels = 7, .centred = false, .bias = false}),
       7},
      {"silu", std::make_shared<Nonlinearity>("s", NonlinearityKind::silu), 7},
      {"swiglu", std::make_shared<Gate>("g", GateKind::swiglu), 14},
      {"gelu", std::make_shared<Nonlinearity>("g", NonlinearityKind::gelu), 7},
      {"glu", std::make_shared<Gate>("g", GateKind::glu), 14},
      {"relu", std::make_shared<ClippedReLU>("r", 0.5), 7},
      {"dropout", std::make_shared<Dropout>("d", 0.3), 7},
      {"masks",
       std::make_shared<SpanMaskLayer>(
           "m", 7, SpanMaskOptions{.time = {0.5, 2, 1}, .features = {0.4, 2, 1}}),
       7},
      {"scale", std::make_shared<Scale>("s", 1.7), 7},
      {"positions", std::make_shared<SinusoidalPositions>("p", SinusoidOptions{.scale = 1.7}), 7},
      {"stored positions",
       std::make_shared<SinusoidalPositions>(
           "p", SinusoidOptions{1.7, SinusoidOrder::halves, 40, 0, true}),
       8},
      {"attention",
       std::make_shared<Attention>(AttentionOptions{
           .name = "a", .channels = 8, .heads = 2, .positions = AttentionPositions::rotary}),
       24},
      {"grouped attention",
       std::make_shared<Attention>(
           AttentionOptions{.name = "a", .channels = 12, .heads = 6, .kv_heads = 2, .right = 0}),
       20},
      {"norm of heads",
       std::make_shared<HeadNorm>(
           HeadNormOptions{.name = "n", .heads = 3, .kv_heads = 1, .head_channels = 5}),
       25}};
  for (const auto& more : {convolutions(), recurrences()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

/// Returns layers that round between their operations.
std::vector<Case> layers_of_several_operations() {
  return {{"normalised convolution over frames",
           std::make_shared<Conv1d>(Conv1dOptions{.name = "c",
                                                  .in_channels = 6,
                                                  .out_channels = 4,
                                                  .groups = 2,
                                                  .kernel = 5,
                                                  .left = 2,
                                                  .right = 2,
                                                  .weight_norm = true}),
           6},
          {"relative attention",
           std::make_shared<Attention>(AttentionOptions{
               .name = "a", .channels = 8, .heads = 2, .positions = AttentionPositions::relative}),
           24},
          {"residual", residual(), 8}};
}

std::vector<double> rounded(const std::vector<double>& values, DType dtype) {
  test::GuardedMemory memory(values.size() * size_of(dtype));
  const Tensor tensor{memory.data(), dtype, {static_cast<std::int64_t>(values.size())}};
  assign(tensor, values);
  return numbers(tensor);
}

/// A layer in halves beside the same layer in FP32, with the same numbers, all of them halves.
struct Pair {
  Pair(const Case& c, DType half)
      : dtype(half),
        narrow(*c.layer, {half, {{kLengths, c.channels}}}),
        wide(*c.layer, {DType::f32, {{kLengths, c.channels}}}) {
    narrow.randomise(5);
    narrow.random.utterances = wide.random.utterances = kUtterances;
    const auto copy = [](const Tensor& from, const Tensor& to) { assign(to, numbers(from)); };
    copy(narrow.input().only().x_FC, wide.input().only().x_FC);
    if (!narrow.output_gradient().empty())  // a loss has none
      copy(narrow.output_gradient().only().x_FC, wide.output_gradient().only().x_FC);
    for (std::size_t i = 0; i < wide.params().size(); ++i)
      copy(narrow.params()[i], wide.params()[i]);
  }

  void expect_rounded(Activation& half, Activation& full, const char* what) {
    EXPECT_EQ(numbers(half.only().x_FC), rounded(numbers(full.only().x_FC), dtype)) << what;
  }

  DType dtype;
  LayerRunner narrow, wide;
};

class HalfBackend : public testing::TestWithParam<DType> {
 protected:
  /// Half a spacing of the numbers near 1.
  double unit() const { return GetParam() == DType::f16 ? 0x1p-11 : 0x1p-8 / 2; }
};

TEST_P(HalfBackend, ForwardIsTheFp32ResultRounded) {
  for (const Case& c : all_layers()) {
    SCOPED_TRACE(c.name);
    Pair pair(c, GetParam());
    pair.narrow.forward();
    pair.wide.forward();
    pair.expect_rounded(pair.narrow.output(), pair.wide.output(), "output");
  }
}

// Backward differs from FP32's by some roundings, not by none, because what forward kept is
// rounded.
TEST_P(HalfBackend, BackwardIsNearFp32AndSumsInFp32) {
  for (const Case& c : all_layers()) {
    SCOPED_TRACE(c.name);
    Pair pair(c, GetParam());
    for (LayerRunner* runner : {&pair.narrow, &pair.wide}) {
      runner->forward();
      runner->backward_input();
      if (!runner->params().empty()) runner->backward_weight();
    }
    const auto near = [&](const Tensor& a, const Tensor& b) {
      return relative_error(numbers(a), numbers(b)) < 20 * unit();
    };
    EXPECT_TRUE(
        near(pair.narrow.input_gradient().only().x_FC, pair.wide.input_gradient().only().x_FC));
    for (std::size_t i = 0; i < pair.wide.grads().size(); ++i) {
      EXPECT_EQ(pair.narrow.grads()[i].dtype, DType::f32);
      EXPECT_TRUE(near(pair.narrow.grads()[i], pair.wide.grads()[i])) << i;
    }
  }
}

// A pass whose operations need no scratch memory in FP32 needs all of the workspace that it
// declares in halves: with one alignment less it throws.
TEST_P(HalfBackend, LayersDeclareNoMoreCopiesThanThereAre) {
  std::vector<Case> cases = all_layers();
  for (const Case& c : layers_of_several_operations()) cases.push_back(c);
  for (const Case& c : cases) {
    const ActivationDecl input{DType::f32, {{kLengths, c.channels}}};
    const Workspace own = c.layer->plan(input, {DeviceKind::cpu, DType::f32}).workspace;
    SCOPED_TRACE(c.name);
    Pair pair(c, GetParam());
    pair.narrow.forward();
    pair.narrow.backward_input();
    pair.narrow.withheld = kAlignment;
    if (own.forward == 0) {
      EXPECT_THROW(pair.narrow.forward(), ShapeError);
    }
    if (own.backward_input == 0) {
      EXPECT_THROW(pair.narrow.backward_input(), ShapeError);
    }
    if (own.backward_weight == 0 && pair.narrow.plan().workspace.backward_weight > 0) {
      EXPECT_THROW(pair.narrow.backward_weight(), ShapeError);
    }
  }
}

TEST_P(HalfBackend, LossOfHalfLogitsIsComputedInFp32) {
  const Case loss{"ctc", std::make_shared<Ctc>("ctc"), 4};
  Pair pair(loss, GetParam());
  const std::vector<std::int32_t> labels = {1, 2, 3, 3, 1}, counts = {2, 0, 2, 1};
  const std::vector<float> weights(4, 1);
  std::vector<double> narrow_losses(4), wide_losses(4);
  Targets narrow{labels, counts, weights, 0.25, narrow_losses};
  Targets wide{labels, counts, weights, 0.25, wide_losses};
  pair.narrow.targets = &narrow;
  pair.wide.targets = &wide;
  for (LayerRunner* runner : {&pair.narrow, &pair.wide}) {
    runner->forward();
    runner->backward_input();
  }
  EXPECT_EQ(narrow_losses, wide_losses);
  pair.expect_rounded(pair.narrow.input_gradient(), pair.wide.input_gradient(), "gradient");
}

INSTANTIATE_TEST_SUITE_P(Halves, HalfBackend, testing::Values(DType::f16, DType::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace penstock::layers
