#include "layers/ops/layer_norm.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kChannels[] = {35, 1, 256};  // that fill no warp, one thread, all

class CudaLayerNorm : public Parity {
 protected:
  template <class Body>
  void for_each_size(Body body) {
    for (std::int64_t rows : kRows)
      for (std::int64_t channels : kChannels)
        for (bool centred : {true, false}) body(Shape{rows, channels}, centred);
  }
  /// Without bias where not centred.
  Tensor bias_of(const Tensor& bias, bool centred) { return centred ? bias : Tensor{}; }
};

TEST_P(CudaLayerNorm, Forward) {
  for_each_size([&](const Shape& shape, bool centred) {
    const Twin x = random(dtype(), shape, 1, 5), y = unwritten(dtype(), shape);
    const Twin weight = random(DType::f32, {shape[1]}), bias = random(DType::f32, {shape[1]});
    const Twin statistics = unwritten(DType::f32, {shape[0], 2});
    run(LayerNormForward{.x_FC = x.cpu,
                         .y_FC = y.cpu,
                         .weight_C = weight.cpu,
                         .bias_C = bias_of(bias.cpu, centred),
                         .statistics_F2 = statistics.cpu,
                         .centred = centred},
        LayerNormForward{.x_FC = x.cuda,
                         .y_FC = y.cuda,
                         .weight_C = weight.cuda,
                         .bias_C = bias_of(bias.cuda, centred),
                         .statistics_F2 = statistics.cuda,
                         .centred = centred});
    expect_close(y, 4 * tolerance(), "y");
    expect_close(statistics, 1e-5, "statistics");
  });
}

TEST_P(CudaLayerNorm, BackwardInput) {
  for_each_size([&](const Shape& shape, bool centred) {
    if (shape[1] == 1) return;  // dx is 0 up to rounding there
    const Twin x = random(dtype(), shape, 1, 5), dy = random(dtype(), shape);
    const Twin dx = unwritten(dtype(), shape), weight = random(DType::f32, {shape[1]});
    const Twin statistics = random(DType::f32, {shape[0], 2}, 1, 3);
    const Twin reductions = unwritten(DType::f64, {2, shape[1]});
    run(LayerNormBackwardInput{x.cpu, dy.cpu, dx.cpu, weight.cpu, statistics.cpu, reductions.cpu,
                               centred},
        LayerNormBackwardInput{x.cuda, dy.cuda, dx.cuda, weight.cuda, statistics.cuda,
                               reductions.cuda, centred});
    expect_close(dx, 4 * tolerance(), "dx");
    expect_close(reductions, 1e-5, "reductions");
  });
}

PARITY_OF_ALL_TYPES(CudaLayerNorm);

class CudaLayerNormWeight : public Parity {};

TEST_P(CudaLayerNormWeight, BackwardWeight) {
  const Twin reductions = random(DType::f64, {2, 35});
  const Twin d_weight = random(DType::f32, {35}), d_bias = random(DType::f32, {35});
  run(LayerNormBackwardWeight{reductions.cpu, d_weight.cpu, d_bias.cpu},
      LayerNormBackwardWeight{reductions.cuda, d_weight.cuda, d_bias.cuda});
  expect_close(d_weight, 1e-6, "d_weight");
  expect_close(d_bias, 1e-6, "d_bias");
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaLayerNormWeight, ::testing::Values(DType::f32),
                         name_of_parameter);

}  // namespace
}  // namespace penstock::layers
