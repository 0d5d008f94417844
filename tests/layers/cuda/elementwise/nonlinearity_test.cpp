#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

constexpr NonlinearityKind kKinds[] = {NonlinearityKind::gelu, NonlinearityKind::gelu_tanh,
                                       NonlinearityKind::silu};

class CudaNonlinearity : public Parity {};

TEST_P(CudaNonlinearity, Forward) {
  for (NonlinearityKind kind : kKinds)
    for (std::int64_t rows : kRows) {
      const Twin x = random(dtype(), {rows, 35}, -8, 8), y = unwritten(dtype(), {rows, 35});
      run(NonlinearityForward{kind, x.cpu, y.cpu}, NonlinearityForward{kind, x.cuda, y.cuda});
      expect_close(y, tolerance(), "y");
    }
}

TEST_P(CudaNonlinearity, Backward) {
  for (NonlinearityKind kind : kKinds)
    for (std::int64_t rows : kRows) {
      const Twin x = random(dtype(), {rows, 35}, -8, 8);
      const Twin dy = random(dtype(), {rows, 35}), dx = unwritten(dtype(), {rows, 35});
      run(NonlinearityBackward{kind, x.cpu, dy.cpu, dx.cpu},
          NonlinearityBackward{kind, x.cuda, dy.cuda, dx.cuda});
      expect_close(dx, tolerance(), "dx");
    }
}

PARITY_OF_ALL_TYPES(CudaNonlinearity);

}  // namespace
}  // namespace penstock::layers
