#include <memory>
#include <vector>

#include "layers/models/intermediate_ctc_units.h"
#include "tests/layers/cuda/layer_parity.h"

namespace penstock::layers {
namespace {

using CudaIntermediateCtc = LayerParity;

TEST_P(CudaIntermediateCtc, Trains) {
  for (const bool conditions : {false, true}) {
    std::vector<std::unique_ptr<Layer>> units;
    add_intermediate_loss(units, {{1, 3}, 0.75, conditions}, {3, 9, 37});
    compare(*units.front(), 9,
            {.frames = {7, 1, 13, 5}, .labels = {2, 2, 1, 36, 1, 4}, .counts = {3, 0, 2, 1}});
  }
}

PARITY_OF_ALL_TYPES(CudaIntermediateCtc);

}  // namespace
}  // namespace penstock::layers
