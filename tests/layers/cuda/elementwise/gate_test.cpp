#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaGate : public Parity {};

TEST_P(CudaGate, Forward) {
  for (GateKind kind : {GateKind::glu, GateKind::swiglu})
    for (std::int64_t rows : kRows) {
      const Twin x = random(dtype(), {rows, 2 * 35}, -5, 5), y = unwritten(dtype(), {rows, 35});
      run(GateForward{kind, x.cpu, y.cpu}, GateForward{kind, x.cuda, y.cuda});
      expect_close(y, tolerance(), "y");
    }
}

TEST_P(CudaGate, Backward) {
  for (GateKind kind : {GateKind::glu, GateKind::swiglu})
    for (std::int64_t rows : kRows) {
      const Twin x = random(dtype(), {rows, 2 * 35}, -5, 5), dy = random(dtype(), {rows, 35});
      const Twin dx = unwritten(dtype(), {rows, 2 * 35});
      run(GateBackward{kind, x.cpu, dy.cpu, dx.cpu}, GateBackward{kind, x.cuda, dy.cuda, dx.cuda});
      expect_close(dx, tolerance(), "dx");
    }
}

PARITY_OF_ALL_TYPES(CudaGate);

}  // namespace
}  // namespace penstock::layers
