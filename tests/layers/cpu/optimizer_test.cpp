#include "layers/ops/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "layers/backend.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::Golden;
using test::GuardedMemory;
using test::numbers;
using test::relative_error;

struct Span {
  Span(DType dtype, std::int64_t count, double value = 0)
      : memory(static_cast<std::size_t>(count) * size_of(dtype)),
        tensor{memory.data(), dtype, {count}} {
    assign(tensor, std::vector<double>(static_cast<std::size_t>(count), value));
  }
  GuardedMemory memory;
  Tensor tensor;
};

struct Optimizer : testing::TestWithParam<DType> {
  std::unique_ptr<Backend> backend = make_cpu_backend();
  std::unique_ptr<Stream> stream = backend->make_stream();
  // All 37 numbers of a golden file.
  const ArenaBlock whole = {.count = 37};
  const ArenaBlocks blocks = {&whole, 1};

  // Runs `step(weight, gradient, number)` over a golden file's gradients and compares the weights.
  void follow(const Golden& golden, const std::function<void(Tensor, Tensor, std::int64_t)>& step) {
    const std::int64_t count = golden.shape("start")[0];
    const auto length = static_cast<std::size_t>(count);
    Span weight(GetParam(), count), gradient(GetParam(), count);
    golden.copy("start", weight.tensor);
    for (std::int64_t k = 0; k < golden.shape("gradients")[0]; ++k) {
      const auto row = [&](const std::string& name) {
        return std::span(golden[name]).subspan(static_cast<std::size_t>(k) * length, length);
      };
      assign(gradient.tensor, row("gradients"));
      step(weight.tensor, gradient.tensor, k + 1);
      EXPECT_LE(relative_error(numbers(weight.tensor), row("weights")), 1e-6) << "step " << k + 1;
    }
  }
};

TEST_P(Optimizer, AdamWFollowsPyTorch) {
  Span mean(GetParam(), 37), square(GetParam(), 37);
  follow(Golden("adamw"), [&](Tensor weight, Tensor gradient, std::int64_t step) {
    backend->run(*stream, AdamWStep{.blocks = blocks,
                                    .weight = weight,
                                    .mean = mean.tensor,
                                    .square = square.tensor,
                                    .gradient = gradient,
                                    .learning_rate = 0.03,
                                    .beta1 = 0.8,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-6,
                                    .weight_decay = 0.1,
                                    .factor = {0.37},
                                    .step = step});
  });
}

TEST_P(Optimizer, SgdFollowsPyTorch) {
  for (bool nesterov : {false, true}) {
    Span velocity(GetParam(), 37);
    follow(Golden(nesterov ? "sgd_nesterov" : "sgd"),
           [&](Tensor weight, Tensor gradient, std::int64_t) {
             backend->run(*stream, SgdStep{.blocks = blocks,
                                           .weight = weight,
                                           .velocity = velocity.tensor,
                                           .gradient = gradient,
                                           .learning_rate = 0.1,
                                           .momentum = 0.9,
                                           .nesterov = nesterov,
                                           .weight_decay = 0.05,
                                           .factor = {0.37}});
           });
  }
}

// Two blocks, the second with a gap before it and in front of the first.
TEST_P(Optimizer, SquaredSumsAndMagnitudesAreOfBlocks) {
  const std::int64_t count = kNormBlock + 1300;
  Span values(GetParam(), count);
  assign(values.tensor, test::uniform(count, 5));
  const ArenaBlock table[] = {{.place = 2, .count = kNormBlock, .gradient = 1300, .weight = 7},
                              {.place = 0, .count = 1237, .gradient = 0}};
  const std::vector<double> all = numbers(values.tensor);
  const auto expect = [&](double number, std::int64_t begin, std::int64_t elements, bool largest) {
    double expected = 0;
    for (std::int64_t i = begin; i < begin + elements; ++i) {
      const double value = all[static_cast<std::size_t>(i)];
      expected = largest ? std::max(expected, std::abs(value)) : expected + value * value;
    }
    EXPECT_NEAR(number, expected, 1e-10 * expected);
  };
  std::vector<double> sums(3, -1), largest(3, -1), of_weight(3, -1);
  backend->run(*stream, SquaredSums{{table, 2}, values.tensor, sums.data()});
  backend->run(*stream, LargestMagnitude{{table, 2}, values.tensor, largest.data()});
  backend->run(*stream, SquaredSums{{table, 1}, values.tensor, of_weight.data(), ArenaOf::weights});
  expect(sums[2], 1300, kNormBlock, false);
  expect(sums[0], 0, 1237, false);
  expect(largest[2], 1300, kNormBlock, true);
  expect(largest[0], 0, 1237, true);
  expect(of_weight[2], 7, kNormBlock, false);
  EXPECT_EQ(sums[1], -1);
}

TEST_P(Optimizer, ASkippedStepChangesNothing) {
  Span weight(GetParam(), 37, 2), mean(GetParam(), 37, 3), square(GetParam(), 37, 4);
  Span gradient(GetParam(), 37, NAN);
  const GradientNormResult skip{.norm = NAN, .clip_coefficient = NAN, .skip = 1};
  backend->run(*stream, AdamWStep{.blocks = blocks,
                                  .weight = weight.tensor,
                                  .mean = mean.tensor,
                                  .square = square.tensor,
                                  .gradient = gradient.tensor,
                                  .learning_rate = 1,
                                  .factor = {1, &skip}});
  backend->run(*stream, SgdStep{.blocks = blocks,
                                .weight = weight.tensor,
                                .velocity = mean.tensor,
                                .gradient = gradient.tensor,
                                .learning_rate = 1,
                                .factor = {1, &skip}});
  EXPECT_EQ(numbers(weight.tensor), std::vector<double>(37, 2));
  EXPECT_EQ(numbers(mean.tensor), std::vector<double>(37, 3));
  EXPECT_EQ(numbers(square.tensor), std::vector<double>(37, 4));
}

// The norm clips as torch.nn.utils.clip_grad_norm_ does.
// Weights lie elsewhere in their arena than averages. The last number belongs to no block.
TEST_P(Optimizer, MoveAveragesFollowsItsFormula) {
  Span weight(GetParam(), 9), average(GetParam(), 9, 5);
  assign(weight.tensor, std::vector<double>{9, 9, 1, 2, 3, 4, 9, 9, 9});
  const ArenaBlock block = {.count = 4, .weight = 2, .slot = 1};
  const GradientNormResult skipped = {.skip = 1};
  MoveAverages op{{&block, 1}, weight.tensor, average.tensor, 0.75, {1, &skipped}};
  backend->run(*stream, op);
  EXPECT_EQ(numbers(average.tensor), std::vector<double>(9, 5));
  op.factor = {};
  backend->run(*stream, op);
  EXPECT_EQ(numbers(average.tensor), (std::vector<double>{5, 4, 4.25, 4.5, 4.75, 5, 5, 5, 5}));
  backend->run(*stream, op);
  EXPECT_EQ(numbers(average.tensor)[1], 4 + 0.25 * (1 - 4));
  EXPECT_EQ(numbers(weight.tensor), (std::vector<double>{9, 9, 1, 2, 3, 4, 9, 9, 9}));
}

TEST(GradientNorm, ClipsAndSkips) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const auto norm_of = [&](std::vector<double> sums, double clip_norm) {
    GradientNormResult result;
    backend->run(*stream, GradientNorm{.blocks = static_cast<std::int64_t>(sums.size()),
                                       .sums = sums.data(),
                                       .largest = sums.data(),
                                       .loss_scale = 2,
                                       .clip_norm = clip_norm,
                                       .result = &result});
    return result;
  };
  for (const double clip_norm : {0.0, 400.0}) {
    const GradientNormResult result = norm_of({36, 64}, clip_norm);
    EXPECT_EQ(result.norm, 5);
    EXPECT_EQ(result.clip_coefficient, 0.5);
    EXPECT_EQ(result.largest, 32);
    EXPECT_EQ(result.skip, 0);
  }
  EXPECT_DOUBLE_EQ(norm_of({2560000}, 400).clip_coefficient, 400 / (800 + 1e-6) / 2);
  for (const double odd : {std::nan(""), HUGE_VAL}) EXPECT_EQ(norm_of({1, odd, 1}, 400).skip, 1);
}

TEST_P(Optimizer, AddIntoAdds) {
  Span from(GetParam(), 13, 2.5), to(GetParam(), 13, 0.25), other(GetParam(), 12);
  backend->run(*stream, AddInto{from.tensor, to.tensor});
  EXPECT_EQ(numbers(to.tensor), std::vector<double>(13, 2.75));
  EXPECT_EQ(numbers(from.tensor), std::vector<double>(13, 2.5));
  EXPECT_THROW(backend->run(*stream, AddInto{other.tensor, to.tensor}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Types, Optimizer, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace penstock::layers
