#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaCast : public Parity {};

TEST_P(CudaCast, RoundsAsTheCpuDoes) {
  // Beyond the range of f16 at one end, below its smallest normal number at the other.
  for (double high : {1.0, 1e5, 1e-6}) {
    const Twin from = random(DType::f32, {1037}, -high, high), to = unwritten(dtype(), {1037});
    test::GuardedMemory memory(1037 * size_of(dtype()));
    const Tensor rounded{memory.data(), dtype(), {1037}};
    run(Cast{from.cpu, rounded}, Cast{from.cuda, to.cuda});
    const auto expected = test::numbers(rounded), found = on_device(to.cuda);
    EXPECT_EQ(found, expected);
  }
}

TEST_P(CudaCast, WidensExactly) {
  const Twin from = random(dtype(), {1037}), to = unwritten(DType::f32, {1037});
  run(Cast{from.cpu, to.cpu}, Cast{from.cuda, to.cuda});
  expect_close(to, 0, "to");
}

PARITY_OF_ALL_TYPES(CudaCast);

}  // namespace
}  // namespace penstock::layers
