#include "tests/layers/cuda/conv2d_parity.h"

namespace penstock::layers {
namespace {

class CudaConv2d : public Conv2dParity {
 protected:
  /// Calls body for strides of 1, 2 and 3 in time, one and several channels, and utterances shorter
  /// than the kernel; channels that tensor cores take, and padding that cuDNN need not.
  template <class Body>
  void for_each_geometry(Body body) {
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t channels : {1, 3}) body(geometry(channels, 4, {11, stride, 5}));
    body(geometry(8, 16, {5, 2, 2}));
    body(geometry(3, 5, {3, 2, 4}));
  }

  Conv2dGeometry geometry(std::int64_t in, std::int64_t out, const Conv2dAxis& time) const {
    return {.in_channels = in,
            .out_channels = out,
            .frequency = {5, 2, 2},
            .time = time,
            .in_frequencies = 9,
            .lengths = lengths_};
  }

 private:
  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
};

TEST_P(CudaConv2d, Forward) {
  for_each_geometry([&](const Conv2dGeometry& g) { compare_forward(g); });
}

TEST_P(CudaConv2d, BackwardInput) {
  for_each_geometry([&](const Conv2dGeometry& g) { compare_backward_input(g); });
}

TEST_P(CudaConv2d, BackwardWeight) {
  for_each_geometry([&](const Conv2dGeometry& g) { compare_backward_weight(g); });
}

// The gradients are as large as under a loss scale: FP16 ends at 65,504.
TEST_P(CudaConv2d, BackwardWeightOfLargeGradients) {
  for (const std::int64_t channels : {1, 8})
    compare_backward_weight(geometry(channels, 16, {5, 2, 2}), 60000);
}

PARITY_OF_ALL_PRODUCTS(Cuda, CudaConv2d);

}  // namespace
}  // namespace penstock::layers
