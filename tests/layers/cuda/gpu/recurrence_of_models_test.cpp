// Recurrences as wide as DeepSpeech2's: too many products for an emulation, so that only GPUs run
// these.

#include "tests/layers/cuda/recurrence_parity.h"

namespace penstock::layers {
namespace {

class GpuRecurrence : public RecurrenceParity {
 protected:
  const std::vector<std::int64_t> lengths_ = {23, 1, 40, 17};
};

TEST_P(GpuRecurrence, ForwardOfModels) {
  for (const std::int64_t hidden : {256, 1024})
    for_each_shape(hidden, [&] {
      const RecurrenceTwins m = micro_batch(lengths_);
      forward(m);
      expect_close(m.y, tolerance_of(m), "y");
      expect_close(m.kept, tolerance_of(m), "kept");
    });
}

TEST_P(GpuRecurrence, BackwardOfModels) {
  for (const std::int64_t hidden : {256, 1024})
    for_each_shape(hidden, [&] {
      const RecurrenceTwins m = micro_batch(lengths_);
      forward(m);
      backward_input(m);
      expect_close(m.dp, 4 * tolerance_of(m), "dp");
      backward_weight(m);
      expect_close(dw_, 4 * tolerance_of(m), "dw");
    });
}

PARITY_OF_ALL_PRODUCTS(Gpu, GpuRecurrence);

}  // namespace
}  // namespace penstock::layers
