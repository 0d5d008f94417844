#include "layers/ops/linear.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Channels that fill no tile, and several frequencies in a row as after a convolution.
constexpr struct { std::int64_t groups, channels; } kGeometries[] = {{1, 35}, {3, 32}, {1, 1}};

class CudaBias : public Parity {};

TEST_P(CudaBias, Forward) {
  for (std::int64_t rows : kRows)
    for (const auto& [groups, channels] : kGeometries) {
      const Twin x = random(dtype(), {rows, groups * channels});
      const Twin bias = random(dtype(), {channels});
      const Twin y = unwritten(dtype(), {rows, groups * channels});
      run(AddBias{x.cpu, bias.cpu, y.cpu}, AddBias{x.cuda, bias.cuda, y.cuda});
      expect_close(y, tolerance(), "y");
      run(AddBias{x.cpu, bias.cpu, x.cpu}, AddBias{x.cuda, bias.cuda, x.cuda});
      expect_close(x, tolerance(), "x, in place");
    }
}

TEST_P(CudaBias, BackwardWeight) {
  for (std::int64_t rows : kRows)
    for (const auto& [groups, channels] : kGeometries) {
      const Twin dy = random(dtype(), {rows, groups * channels});
      const Twin d_bias = random(DType::f32, {channels});
      run(BiasBackwardWeight{dy.cpu, d_bias.cpu}, BiasBackwardWeight{dy.cuda, d_bias.cuda});
      expect_close(d_bias, 1e-5, "d_bias");  // FP32 sums whatever the inputs
    }
}

PARITY_OF_ALL_TYPES(CudaBias);

}  // namespace
}  // namespace penstock::layers
