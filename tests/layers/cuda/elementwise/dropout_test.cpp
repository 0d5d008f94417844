#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaDropout : public Parity {
 protected:
  DropoutMask mask() const {
    return {.random = {.seed = 0x1234567890abcdef, .epoch = 3, .utterances = utterances_},
            .layer = 0x9abcdef0,
            .lengths = lengths_,
            .probability = 0.3};
  }
  static std::vector<bool> zeros(const std::vector<double>& values) {
    std::vector<bool> zeros;
    for (double value : values) zeros.push_back(value == 0);
    return zeros;
  }

  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
  const std::vector<std::uint64_t> utterances_ = {5, 1ull << 40, 0, 77};
  const Shape shape_ = {26, 35};  // 35 channels: the last group of four is not whole
};

TEST_P(CudaDropout, Forward) {
  const Twin x = random(dtype(), shape_, 1, 2), y = unwritten(dtype(), shape_);
  run(DropoutForward{x.cpu, y.cpu, mask()}, DropoutForward{x.cuda, y.cuda, mask()});
  EXPECT_EQ(zeros(on_device(y.cuda)), zeros(test::numbers(y.cpu)));  // the same bits are sampled
  expect_close(y, tolerance(), "y");
}

TEST_P(CudaDropout, Backward) {
  const Twin dy = random(dtype(), shape_, 1, 2), dx = unwritten(dtype(), shape_);
  run(DropoutBackward{dy.cpu, dx.cpu, mask()}, DropoutBackward{dy.cuda, dx.cuda, mask()});
  EXPECT_EQ(zeros(on_device(dx.cuda)), zeros(test::numbers(dx.cpu)));
  expect_close(dx, tolerance(), "dx");
}

PARITY_OF_ALL_TYPES(CudaDropout);

}  // namespace
}  // namespace penstock::layers
