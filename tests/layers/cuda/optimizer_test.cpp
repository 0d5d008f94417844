#include "layers/ops/optimizer.h"

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

TEST_P(CudaOptimizer, AddInto) {
  const Twin from = random(DType::f32, arena_), to = random(DType::f32, arena_);
  run(AddInto{from.cpu, to.cpu}, AddInto{from.cuda, to.cuda});
  expect_close(to, 0, "to");
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOptimizer, ::testing::Values(DType::f32),
                         test::name_of_parameter);

}  // namespace
}  // namespace penstock
