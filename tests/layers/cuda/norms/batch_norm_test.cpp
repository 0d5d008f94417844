#include "layers/ops/batch_norm.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Channels that fill no tile, and several frequencies in a row as after a convolution.
struct Geometry {
  std::int64_t groups, channels;
};
constexpr Geometry kGeometries[] = {{1, 35}, {3, 32}, {1, 1}};

class CudaBatchNorm : public Parity {
 protected:
  template <class Body>
  void for_each_geometry(Body body) {
    for (std::int64_t rows : kRows)
      for (const Geometry& geometry : kGeometries)
        for (bool silu : {false, true})
          body(Shape{rows, geometry.groups * geometry.channels}, geometry.channels,
               rows * geometry.groups, silu);
  }
  // One row has no deviation: its inverse, 1 / √epsilon, magnifies the last bit of x.
  double tolerance_for(std::int64_t n) const { return n == 1 ? 40 * tolerance() : 4 * tolerance(); }
};

TEST_P(CudaBatchNorm, Forward) {
  for_each_geometry([&](const Shape& shape, std::int64_t channels, std::int64_t n, bool silu) {
    const Twin x = random(dtype(), shape, 3, 5), y = unwritten(dtype(), shape);
    const Twin weight = random(DType::f32, {channels}), bias = random(DType::f32, {channels});
    const Twin statistics = unwritten(DType::f64, {2, channels});
    std::vector<double> cpu_sums(static_cast<std::size_t>(1 + 2 * channels));
    std::vector<double> cuda_sums(cpu_sums.size());
    run(BatchNormForward{x.cpu, y.cpu, weight.cpu, bias.cpu, statistics.cpu, cpu_sums, 1e-5, silu},
        BatchNormForward{x.cuda, y.cuda, weight.cuda, bias.cuda, statistics.cuda, cuda_sums, 1e-5,
                         silu});
    expect_close(y, tolerance_for(n), "y");
    expect_close(statistics, 1e-9, "statistics");
    EXPECT_LE(test::relative_error(cuda_sums, cpu_sums), 1e-9) << "sums";
  });
}

// InstanceNorm runs the operation like this.
TEST_P(CudaBatchNorm, ForwardWithoutSums) {
  const Twin x = random(dtype(), {26, 35}, 3, 5), y = unwritten(dtype(), {26, 35});
  const Twin weight = random(DType::f32, {35}), bias = random(DType::f32, {35});
  const Twin statistics = unwritten(DType::f64, {2, 35});
  run(BatchNormForward{x.cpu, y.cpu, weight.cpu, bias.cpu, statistics.cpu, {}},
      BatchNormForward{x.cuda, y.cuda, weight.cuda, bias.cuda, statistics.cuda, {}});
  expect_close(y, tolerance_for(26), "y");
  expect_close(statistics, 1e-9, "statistics");
}

TEST_P(CudaBatchNorm, Inference) {
  for_each_geometry([&](const Shape& shape, std::int64_t channels, std::int64_t, bool silu) {
    for (DType state : {DType::f32, DType::f64}) {
      const Twin x = random(dtype(), shape, 3, 5), y = unwritten(dtype(), shape);
      const Twin weight = random(DType::f32, {channels}), bias = random(DType::f32, {channels});
      const Twin mean = random(state, {channels}, 3, 5);
      const Twin variance = random(state, {channels}, 0.5, 2);
      run(BatchNormInference{x.cpu, y.cpu, weight.cpu, bias.cpu, mean.cpu, variance.cpu, 1e-5,
                             silu},
          BatchNormInference{x.cuda, y.cuda, weight.cuda, bias.cuda, mean.cuda, variance.cuda, 1e-5,
                             silu});
      expect_close(y, tolerance_for(2), "y");
    }
  });
}

TEST_P(CudaBatchNorm, BackwardInput) {
  for_each_geometry([&](const Shape& shape, std::int64_t channels, std::int64_t n, bool silu) {
    if (n == 1) return;  // dx is 0 up to rounding there
    const Twin x = random(dtype(), shape, 3, 5), dy = random(dtype(), shape);
    const Twin dx = unwritten(dtype(), shape), weight = random(DType::f32, {channels});
    const Twin bias = random(DType::f32, {channels});
    const Twin statistics = random(DType::f64, {2, channels}, 1, 4);
    const Twin reductions = unwritten(DType::f64, {2, channels});
    run(BatchNormBackwardInput{x.cpu, dy.cpu, dx.cpu, weight.cpu, statistics.cpu, reductions.cpu,
                               bias.cpu, silu},
        BatchNormBackwardInput{x.cuda, dy.cuda, dx.cuda, weight.cuda, statistics.cuda,
                               reductions.cuda, bias.cuda, silu});
    expect_close(dx, tolerance_for(n), "dx");
    // With silu, dz is FP32 by either backend's exponential.
    expect_close(reductions, silu ? 1e-6 : 1e-9, "reductions");
  });
}

PARITY_OF_ALL_TYPES(CudaBatchNorm);

class CudaBatchNormCommit : public Parity {};

TEST_P(CudaBatchNormCommit, MovesRunningStatistics) {
  for (const std::int64_t channels : {1, 35, 300}) {
    const Twin mean = random(DType::f32, {channels}, -3, 5);
    const Twin variance = random(DType::f32, {channels}, 0.5, 2);
    std::vector<double> statistics;
    for (std::int64_t i = 0; i < 2 * channels; ++i)
      statistics.push_back(0.25 + static_cast<double>(i * 7 % 11));
    run(BatchNormCommit{23, statistics, mean.cpu, variance.cpu, 0.1},
        BatchNormCommit{23, statistics, mean.cuda, variance.cuda, 0.1});
    expect_close(mean, 0x1p-23, "mean");
    expect_close(variance, 0x1p-23, "variance");
  }
}

class CudaBatchNormWeight : public Parity {};

TEST_P(CudaBatchNormWeight, BackwardWeight) {
  const Twin reductions = random(DType::f64, {2, 35});
  const Twin d_weight = random(DType::f32, {35}), d_bias = random(DType::f32, {35});
  run(BatchNormBackwardWeight{reductions.cpu, d_weight.cpu, d_bias.cpu},
      BatchNormBackwardWeight{reductions.cuda, d_weight.cuda, d_bias.cuda});
  expect_close(d_weight, 1e-6, "d_weight");
  expect_close(d_bias, 1e-6, "d_bias");
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaBatchNormWeight, ::testing::Values(DType::f32),
                         name_of_parameter);
INSTANTIATE_TEST_SUITE_P(Cuda, CudaBatchNormCommit, ::testing::Values(DType::f32),
                         name_of_parameter);

}  // namespace
}  // namespace penstock::layers
