#include <gtest/gtest.h>

#include <cmath>

#include "layers/ops/linear.h"
#include "tests/layers/cpu/transducer/transducer_run.h"

namespace penstock::layers {
namespace {

using test::relative_error;

constexpr std::int64_t kFrames = 5, kRow = 4, kChannels = 11, kTokens = 6;
const std::vector<std::int32_t> kLabels = {3, 1, 5}, kDurations = {0, 1, 2};
constexpr std::int64_t kOut = kTokens + 3;

/// A tensor with memory of its own.
struct Numbers {
  Numbers(DType dtype, Shape shape, double value = 0)
      : memory(static_cast<std::size_t>(element_count(shape)) * size_of(dtype)),
        tensor{memory.data(), dtype, std::move(shape)} {
    test::assign(tensor, std::vector<double>(static_cast<std::size_t>(tensor.size()), value));
  }
  /// Rows [first, first + count).
  Tensor rows(std::int64_t first, std::int64_t count) const {
    const std::size_t width = static_cast<std::size_t>(tensor.shape[1]) * size_of(tensor.dtype);
    return {memory.data() + static_cast<std::size_t>(first) * width,
            tensor.dtype,
            {count, tensor.shape[1]}};
  }
  test::GuardedMemory memory;
  Tensor tensor;
};

/// A joint network and its loss, as a layer composes them, in tiles of some frames.
struct TinyJoint {
  explicit TinyJoint(JointNonlinearity kind, DType dtype, std::int64_t tile)
      : kind(kind),
        tile(tile),
        encoded(dtype, {kFrames, kChannels}),
        predicted(dtype, {kRow, kChannels}),
        weight(dtype, {kOut, kChannels}),
        dencoded(dtype, {kFrames, kChannels}, NAN),
        dpredicted(dtype, {kRow, kChannels}),
        dweight(dtype, {kOut, kChannels}),
        scores(dtype, {kFrames * kRow, 5}),
        hidden(dtype, {kFrames * kRow, kChannels}),
        dhidden(dtype, {kFrames * kRow, kChannels}),
        logits(dtype, {kFrames * kRow, kOut}) {
    std::uint64_t seed = 3;
    for (const Numbers* parameters : {&encoded, &predicted, &weight})
      test::assign(parameters->tensor, test::uniform(parameters->tensor.size(), seed++, -1, 1));
  }

  /// Calls use(first frame, frames, hidden, logits) for each tile, with both computed.
  template <class Use>
  void for_each_tile(const Use& use) {
    for (std::int64_t t = 0; t < kFrames; t += tile) {
      const std::int64_t frames = std::min(tile, kFrames - t), cells = frames * kRow;
      const Tensor h = hidden.rows(0, cells), x = logits.rows(0, cells);
      run(JointCells{kind, encoded.rows(t, frames), predicted.tensor, h});
      run(LinearForward{h, weight.tensor, {}, x});
      use(t, frames, h, x);
    }
  }

  double loss() {
    for_each_tile([&](std::int64_t t, std::int64_t frames, const Tensor&, const Tensor& x) {
      run(TransducerScores{x, labels, kTokens, 0.1, scores.rows(t * kRow, frames * kRow)});
    });
    TransducerRun lattice{.lengths = {kFrames}, .labels = {kLabels}, .durations = kDurations};
    lattice.run_lattice(scores.tensor);
    return lattice.losses[0];
  }

  void backward() {
    for_each_tile([&](std::int64_t t, std::int64_t frames, const Tensor& h, const Tensor& x) {
      const Tensor dh = dhidden.rows(0, frames * kRow);
      run(TransducerLogitGradient{x, labels, kTokens, scores.rows(t * kRow, frames * kRow), x});
      run(LinearBackwardInput{x, weight.tensor, dh});
      run(LinearBackwardWeight{h, x, dweight.tensor, {}});
      run(JointCellsBackward{kind, h, dh, dencoded.rows(t, frames), dpredicted.tensor});
    });
  }

  template <class Operation>
  void run(const Operation& operation) {
    backend->run(*stream, operation);
  }

  JointNonlinearity kind;
  std::int64_t tile;
  Numbers encoded, predicted, weight, dencoded, dpredicted, dweight;
  Numbers scores, hidden, dhidden, logits;
  std::vector<std::int32_t> own_labels = kLabels;
  Tensor labels{own_labels.data(), DType::i32, {kRow - 1}};
  std::unique_ptr<Backend> backend = make_cpu_backend();
  std::unique_ptr<Stream> stream = backend->make_stream();
};

TEST(JointCellsTest, HasTheGradientOfFiniteDifferences) {
  for (const auto kind : {JointNonlinearity::relu, JointNonlinearity::tanh}) {
    TinyJoint joint(kind, DType::f64, 2);
    joint.loss();
    joint.backward();
    const std::pair<const Numbers*, const Numbers*> pairs[] = {
        {&joint.encoded, &joint.dencoded},
        {&joint.predicted, &joint.dpredicted},
        {&joint.weight, &joint.dweight}};
    for (const auto& [x, gradient] : pairs) {
      std::vector<double> differences;
      constexpr double kStep = 1e-5;
      for (std::int64_t i = 0; i < x->tensor.size(); ++i) {
        double& value = x->tensor.as<double>()[i];
        const double before = value;
        value = before + kStep;
        const double more = joint.loss();
        value = before - kStep;
        differences.push_back((more - joint.loss()) / (2 * kStep));
        value = before;
      }
      EXPECT_LE(relative_error(test::numbers(gradient->tensor), differences), 1e-7);
    }
  }
}

/// Both gradients of a tile of 5 × 4 cells, in parts of some frames, from seeded numbers.
std::vector<double> gradients_in_tiles(std::int64_t tile) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const Numbers hidden(DType::f32, {kFrames * kRow, kChannels}),
      dhidden(DType::f32, {kFrames * kRow, kChannels}),
      dencoded(DType::f32, {kFrames, kChannels}, NAN),
      dpredicted(DType::f32, {kRow, kChannels}, 0.5);
  test::assign(hidden.tensor, test::uniform(hidden.tensor.size(), 1));
  test::assign(dhidden.tensor, test::uniform(dhidden.tensor.size(), 2));
  for (std::int64_t t = 0; t < kFrames; t += tile) {
    const std::int64_t frames = std::min(tile, kFrames - t);
    backend->run(*stream,
                 JointCellsBackward{JointNonlinearity::tanh, hidden.rows(t * kRow, frames * kRow),
                                    dhidden.rows(t * kRow, frames * kRow), dencoded.rows(t, frames),
                                    dpredicted.tensor});
  }
  std::vector<double> both = test::numbers(dencoded.tensor);
  for (const double g : test::numbers(dpredicted.tensor)) both.push_back(g);
  return both;
}

TEST(JointCellsTest, TilesChangeNoBit) {
  const std::vector<double> whole = gradients_in_tiles(kFrames);
  for (const std::int64_t tile : {1, 2, 3}) EXPECT_EQ(gradients_in_tiles(tile), whole);
}

TEST(JointCellsTest, AddsEachFrameToEachRow) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  std::vector<float> encoded = {1, -2, NAN, 3}, predicted = {0, 1, 0, 5, -1.5f, 1}, hidden(12);
  const Tensor encoded_TJ{encoded.data(), DType::f32, {2, 2}},
      predicted_UJ{predicted.data(), DType::f32, {3, 2}},
      hidden_CJ{hidden.data(), DType::f32, {6, 2}};
  backend->run(*stream, JointCells{JointNonlinearity::relu, encoded_TJ, predicted_UJ, hidden_CJ});
  const std::vector<float> first(hidden.begin(), hidden.begin() + 6);
  EXPECT_EQ(first, (std::vector<float>{1, 0, 1, 3, 0, 0}));
  EXPECT_TRUE(std::isnan(hidden[6]));
  EXPECT_EQ(hidden[9], 8);
  encoded = {1, -2, 0, 3};
  backend->run(*stream, JointCells{JointNonlinearity::tanh, encoded_TJ, predicted_UJ, hidden_CJ});
  EXPECT_NEAR(hidden[4], std::tanh(-0.5), 1e-6);
}

}  // namespace
}  // namespace penstock::layers
