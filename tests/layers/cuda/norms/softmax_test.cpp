#include "layers/ops/softmax.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kSoftmaxChannels[] = {35, 1, 256};  // that fill no warp, one thread, all

using CudaSoftmax = Parity;

TEST_P(CudaSoftmax, Forward) {
  for (std::int64_t rows : kRows)
    for (std::int64_t channels : kSoftmaxChannels) {
      const Twin x = random(dtype(), {rows, channels}, 1, 5);
      const Twin y = unwritten(dtype(), {rows, channels});
      run(SoftmaxForward{x.cpu, y.cpu}, SoftmaxForward{x.cuda, y.cuda});
      expect_close(y, 4 * tolerance(), "y");
    }
}

TEST_P(CudaSoftmax, Backward) {
  for (std::int64_t rows : kRows)
    for (std::int64_t channels : kSoftmaxChannels) {
      const Twin y = random(dtype(), {rows, channels}), dy = random(dtype(), {rows, channels});
      const Twin dx = unwritten(dtype(), {rows, channels});
      run(SoftmaxBackward{y.cpu, dy.cpu, dx.cpu}, SoftmaxBackward{y.cuda, dy.cuda, dx.cuda});
      expect_close(dx, 4 * tolerance(), "dx");
    }
}

PARITY_OF_ALL_TYPES(CudaSoftmax);

}  // namespace
}  // namespace penstock::layers
