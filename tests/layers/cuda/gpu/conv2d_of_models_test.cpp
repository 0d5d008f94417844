// DeepSpeech2's own convolutions: too many products for an emulation, so that only GPUs run these.

#include "tests/layers/cuda/conv2d_parity.h"

namespace penstock::layers {
namespace {

class GpuConv2d : public Conv2dParity {
 protected:
  /// Calls body for the kernels of 41 × 11 on one channel and of 21 × 11 on 32.
  template <class Body>
  void for_both(Body body) {
    const std::vector<std::int64_t> lengths = {137, 1, 64, 91};
    const Conv2dGeometry first{.in_channels = 1,
                               .out_channels = 32,
                               .frequency = {41, 2, 20},
                               .time = {11, 2, 5},
                               .in_frequencies = 161,
                               .lengths = lengths};
    const std::vector<std::int64_t> behind_first = first.out_lengths();
    const Conv2dGeometry second{.in_channels = 32,
                                .out_channels = 32,
                                .frequency = {21, 2, 10},
                                .time = {11, 1, 5},
                                .in_frequencies = first.out_frequencies(),
                                .lengths = behind_first};
    for (const Conv2dGeometry* const geometry : {&first, &second}) {
      SCOPED_TRACE("channels " + std::to_string(geometry->in_channels));
      body(*geometry);
    }
  }
};

TEST_P(GpuConv2d, ForwardOfModels) {
  for_both([&](const Conv2dGeometry& g) { compare_forward(g); });
}

TEST_P(GpuConv2d, BackwardInputOfModels) {
  for_both([&](const Conv2dGeometry& g) { compare_backward_input(g); });
}

TEST_P(GpuConv2d, BackwardWeightOfModels) {
  for_both([&](const Conv2dGeometry& g) { compare_backward_weight(g); });
}

PARITY_OF_ALL_PRODUCTS(Gpu, GpuConv2d);

}  // namespace
}  // namespace penstock::layers
