#include "layers/ops/optimizer.h"

#include <cmath>

#include "tests/layers/cuda/parity.h"

namespace penstock {
namespace {

using test::Twin;

class CudaOptimizer : public test::Parity {
 protected:
  const Shape arena_ = {2 * kNormBlock + 37};
};

TEST_P(CudaOptimizer, AdamW) {
  const Twin weight = random(DType::f32, arena_), mean = random(DType::f32, arena_, -0.1, 0.1);
  const Twin square = random(DType::f32, arena_, 0.01, 0.1), gradient = random(DType::f32, arena_);
  const auto step = [&](Tensor Twin::*side, std::int64_t number) {
    return AdamWStep{.weight = weight.*side,
                     .mean = mean.*side,
                     .square = square.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.01,
                     .weight_decay = 0.1,
                     .gradient_factor = 0.5,
                     .step = number};
  };
  for (std::int64_t number : {1, 2, 3}) run(step(&Twin::cpu, number), step(&Twin::cuda, number));
  expect_close(weight, 1e-6, "weight");
  expect_close(mean, 1e-6, "mean");
  expect_close(square, 1e-6, "square");
}

TEST_P(CudaOptimizer, LambDirection) {
  const Twin weight = random(DType::f32, arena_), mean = random(DType::f32, arena_, -0.1, 0.1);
  const Twin square = random(DType::f32, arena_, 0.01, 0.1), gradient = random(DType::f32, arena_);
  const auto step = [&](Tensor Twin::*side) {
    return LambDirection{.weight = weight.*side,
                         .mean = mean.*side,
                         .square = square.*side,
                         .gradient = gradient.*side,
                         .weight_decay = 0.1,
                         .gradient_factor = 0.5,
                         .step = 3};
  };
  run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(gradient, 1e-6, "direction");
  expect_close(mean, 1e-6, "mean");
  expect_close(square, 1e-6, "square");
}

TEST_P(CudaOptimizer, Sgd) {
  for (bool nesterov : {false, true}) {
    const Twin weight = random(DType::f32, arena_), velocity = random(DType::f32, arena_);
    const Twin gradient = random(DType::f32, arena_);
    const auto step = [&](Tensor Twin::*side) {
      return SgdStep{.weight = weight.*side,
                     .velocity = velocity.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.1,
                     .momentum = 0.9,
                     .nesterov = nesterov,
                     .weight_decay = 0.01,
                     .gradient_factor = 0.5};
    };
    run(step(&Twin::cpu), step(&Twin::cuda));
    expect_close(weight, 1e-6, "weight");
    expect_close(velocity, 1e-6, "velocity");
  }
}

// A spacing of the halves, where FP32 weights that differ in their last bit round apart.
TEST_P(CudaOptimizer, WeightsRoundedForLayers) {
  for (const auto& [half, spacing] : {std::pair{DType::f16, 0x1p-10}, {DType::bf16, 0x1p-7}}) {
    const Twin weight = random(DType::f32, arena_), velocity = random(DType::f32, arena_),
               mean = random(DType::f32, arena_), square = random(DType::f32, arena_, 0.01, 0.1),
               gradient = random(DType::f32, arena_), rounded = random(half, arena_);
    const auto sgd = [&](Tensor Twin::*side) {
      return SgdStep{.weight = weight.*side,
                     .velocity = velocity.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.1,
                     .rounded = rounded.*side};
    };
    run(sgd(&Twin::cpu), sgd(&Twin::cuda));
    expect_close(rounded, spacing, "rounded by SGD");
    const auto adamw = [&](Tensor Twin::*side) {
      return AdamWStep{.weight = weight.*side,
                       .mean = mean.*side,
                       .square = square.*side,
                       .gradient = gradient.*side,
                       .learning_rate = 0.1,
                       .rounded = rounded.*side};
    };
    run(adamw(&Twin::cpu), adamw(&Twin::cuda));
    expect_close(rounded, spacing, "rounded by AdamW");
  }
}

TEST_P(CudaOptimizer, SquaredSums) {
  const Twin values = random(DType::f32, arena_);
  std::vector<double> cpu_sums(3), cuda_sums(3);
  run(SquaredSums{values.cpu, cpu_sums}, SquaredSums{values.cuda, cuda_sums});
  EXPECT_LE(test::relative_error(cuda_sums, cpu_sums), 1e-12);
}

TEST_P(CudaOptimizer, LargestMagnitude) {
  const Twin values = random(DType::f32, arena_);
  std::vector<double> cpu(3), cuda(3);
  run(LargestMagnitude{values.cpu, cpu}, LargestMagnitude{values.cuda, cuda});
  EXPECT_EQ(cuda, cpu);
}

TEST_P(CudaOptimizer, LargestMagnitudeOfWhatIsNotFinite) {
  for (const double odd : {std::nan(""), -HUGE_VAL}) {
    std::vector<double> numbers(static_cast<std::size_t>(kNormBlock) + 5, 0.5), largest(2);
    numbers[1234] = odd;
    const Twin values = twin(DType::f32, {kNormBlock + 5}, numbers);
    cuda_->run(*cuda_stream_, LargestMagnitude{values.cuda, largest});
    cuda_->finish(*cuda_stream_);
    EXPECT_FALSE(std::isfinite(largest[0]));
    EXPECT_EQ(largest[1], 0.5);
  }
}

TEST_P(CudaOptimizer, AddInto) {
  for (double factor : {1.0, -0.3}) {
    const Twin from = random(DType::f32, arena_), to = random(DType::f32, arena_);
    run(AddInto{from.cpu, to.cpu, factor}, AddInto{from.cuda, to.cuda, factor});
    expect_close(to, factor == 1 ? 0 : 0x1p-23, "to");  // contracted or not
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOptimizer, ::testing::Values(DType::f32),
                         test::name_of_parameter);

}  // namespace
}  // namespace penstock
