#include "tests/support/partition/small_sequence.h"

#include "layers/nn/conv2d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"

namespace penstock::test {

partition::LayerSequence small_sequence() {
  partition::LayerSequence sequence{.layers = {}, .features = 6};
  const layers::Conv2dAxis axis{.kernel = 3, .stride = 2, .padding = 1};
  sequence.layers.push_back(
      std::make_unique<layers::Conv2d>(layers::Conv2dOptions{.name = "conv",
                                                             .in_channels = 1,
                                                             .out_channels = 4,
                                                             .in_frequencies = 6,
                                                             .frequency = axis,
                                                             .time = axis}));
  sequence.layers.push_back(std::make_unique<layers::ClippedReLU>("relu"));
  sequence.layers.push_back(
      std::make_unique<layers::Linear>(layers::LinearOptions{"hidden", 12, 10}));
  sequence.layers.push_back(
      std::make_unique<layers::Linear>(layers::LinearOptions{"output", 10, 5}));
  return sequence;
}

}  // namespace penstock::test
