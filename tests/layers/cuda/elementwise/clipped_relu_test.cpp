#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaClippedRelu : public Parity {};

TEST_P(CudaClippedRelu, Forward) {
  for (std::int64_t rows : kRows) {
    const Twin x = random(dtype(), {rows, 35}, -30, 30), y = unwritten(dtype(), {rows, 35});
    run(ClippedReluForward{x.cpu, y.cpu}, ClippedReluForward{x.cuda, y.cuda});
    expect_close(y, 0, "y");
  }
}

TEST_P(CudaClippedRelu, Backward) {
  for (std::int64_t rows : kRows) {
    const Twin x = random(dtype(), {rows, 35}, -30, 30), y = unwritten(dtype(), {rows, 35});
    const Twin dy = random(dtype(), {rows, 35}), dx = unwritten(dtype(), {rows, 35});
    run(ClippedReluForward{x.cpu, y.cpu}, ClippedReluForward{x.cuda, y.cuda});
    run(ClippedReluBackward{y.cpu, dy.cpu, dx.cpu}, ClippedReluBackward{y.cuda, dy.cuda, dx.cuda});
    expect_close(dx, 0, "dx");
  }
}

PARITY_OF_ALL_TYPES(CudaClippedRelu);

}  // namespace
}  // namespace penstock::layers
