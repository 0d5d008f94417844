#include "layers/ops/transducer.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Frames, labels and one more, channels: one cell, more labels than threads that share them, and
/// rows that are whole words of 16 bytes.
struct JointSize {
  std::int64_t frames, row, channels;
};
constexpr JointSize kSizes[] = {{1, 1, 35}, {7, 13, 67}, {3, 1, 64}, {2, 40, 8}};

class CudaJointCells : public Parity {
 protected:
  static constexpr JointNonlinearity kKinds[] = {JointNonlinearity::relu, JointNonlinearity::tanh};
};

TEST_P(CudaJointCells, Forward) {
  for (const JointNonlinearity kind : kKinds)
    for (const auto& [frames, row, channels] : kSizes) {
      const Twin encoded = random(dtype(), {frames, channels}, -2, 2);
      const Twin predicted = random(dtype(), {row, channels}, -2, 2);
      const Twin hidden = unwritten(dtype(), {frames * row, channels});
      run(JointCells{kind, encoded.cpu, predicted.cpu, hidden.cpu},
          JointCells{kind, encoded.cuda, predicted.cuda, hidden.cuda});
      expect_close(hidden, tolerance(), "hidden");
    }
}

TEST_P(CudaJointCells, Backward) {
  for (const JointNonlinearity kind : kKinds)
    for (const auto& [frames, row, channels] : kSizes) {
      const Shape cells{frames * row, channels};
      const Twin hidden = random(dtype(), cells), dhidden = random(dtype(), cells);
      const Twin dencoded = unwritten(dtype(), {frames, channels});
      const Twin dpredicted = random(DType::f32, {row, channels});
      run(JointCellsBackward{kind, hidden.cpu, dhidden.cpu, dencoded.cpu, dpredicted.cpu},
          JointCellsBackward{kind, hidden.cuda, dhidden.cuda, dencoded.cuda, dpredicted.cuda});
      expect_close(dencoded, tolerance(), "dencoded");
      expect_close(dpredicted, sum_tolerance(), "dpredicted");
    }
}

PARITY_OF_ALL_TYPES(CudaJointCells);

}  // namespace
}  // namespace penstock::layers
