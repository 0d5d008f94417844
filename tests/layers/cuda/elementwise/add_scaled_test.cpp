#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaAddScaled : public Parity {};

TEST_P(CudaAddScaled, OfTwo) {
  for (std::int64_t rows : kRows) {
    const Twin x = random(dtype(), {rows, 35}), f = random(dtype(), {rows, 35});
    const Twin y = unwritten(dtype(), {rows, 35});
    run(AddScaled{x.cpu, f.cpu, y.cpu, 0.3}, AddScaled{x.cuda, f.cuda, y.cuda, 0.3});
    expect_close(y, tolerance(), "y");
    run(AddScaled{x.cpu, f.cpu, f.cpu, 0.3}, AddScaled{x.cuda, f.cuda, f.cuda, 0.3});
    expect_close(f, tolerance(), "f, in place");
  }
}

TEST_P(CudaAddScaled, OfFP32AndAnother) {
  const Shape shape = {26, 35};
  const Twin x = random(DType::f32, shape), f = random(dtype(), shape),
             y = unwritten(dtype(), shape);
  run(AddScaled{x.cpu, f.cpu, y.cpu, 0.3}, AddScaled{x.cuda, f.cuda, y.cuda, 0.3});
  expect_close(y, tolerance(), "y");
}

TEST_P(CudaAddScaled, OfOne) {
  for (std::int64_t rows : kRows) {
    const Twin f = random(dtype(), {rows, 35}), y = unwritten(dtype(), {rows, 35});
    run(AddScaled{{}, f.cpu, y.cpu, 0.5}, AddScaled{{}, f.cuda, y.cuda, 0.5});
    expect_close(y, tolerance(), "y");
  }
}

TEST_P(CudaAddScaled, OfUtterances) {
  const std::vector<std::int64_t> lengths = {7, 1, 13, 5};
  const std::vector<double> factors = {1.25, 0, 2, 0};
  const Shape shape = {26, 35};
  const Twin x = random(dtype(), shape), f = random(dtype(), shape);
  const Twin y = unwritten(dtype(), shape), dy = unwritten(dtype(), shape);
  run(AddScaled{x.cpu, f.cpu, y.cpu, 0.5, factors, lengths},
      AddScaled{x.cuda, f.cuda, y.cuda, 0.5, factors, lengths});
  expect_close(y, tolerance(), "y");
  run(AddScaled{{}, f.cpu, dy.cpu, 0.5, factors, lengths},
      AddScaled{{}, f.cuda, dy.cuda, 0.5, factors, lengths});
  expect_close(dy, tolerance(), "y without x");
}

PARITY_OF_ALL_TYPES(CudaAddScaled);

}  // namespace
}  // namespace penstock::layers
