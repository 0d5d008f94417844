#include "layers/models/subsampling.h"

#include <fmt/format.h>

#include <limits>

#include "layers/nn/conv2d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"

// Each convolution halves frames and frequencies, rounded up: with a kernel of 3, stride 2 and
// padding 1, n become (n + 1) / 2. So two of them make one frame of four and three make one of
// eight, and 80 features become 40, 20 and then 10 frequencies.
//
// A depthwise convolution with a product over the channels costs 9 + channels multiply-adds for
// each number of its output, a dense one 9 · channels.

namespace penstock::layers {
namespace {

constexpr Conv2dAxis kHalving{.kernel = 3, .stride = 2, .padding = 1};

/// Size of the image after the layers so far.
struct Image {
  std::int64_t channels = 1, frequencies = 0;
};

std::string part(std::string_view kind, int number) {
  return fmt::format("subsampling.{}{}", kind, number);
}

/// Appends a convolution, with the product over channels if it is depthwise. `image` becomes the
/// size of its output. The product has one weight for all frequencies, which makes it a convolution
/// of 1 × 1.
void add_convolution(std::vector<std::unique_ptr<Layer>>& sequence, int number,
                     std::int64_t channels, bool depthwise, Image& image) {
  auto convolution = std::make_unique<Conv2d>(Conv2dOptions{.name = part("conv", number),
                                                            .in_channels = image.channels,
                                                            .out_channels = channels,
                                                            .in_frequencies = image.frequencies,
                                                            .frequency = kHalving,
                                                            .time = kHalving,
                                                            .bias = true,
                                                            .depthwise = depthwise});
  image = {channels, convolution->out_frequencies()};
  sequence.push_back(std::move(convolution));
  if (!depthwise) return;
  sequence.push_back(std::make_unique<Linear>(LinearOptions{.name = part("pointwise", number),
                                                            .in = image.channels,
                                                            .out = image.channels,
                                                            .parts = image.frequencies}));
}

}  // namespace

// The first convolution is dense even in a separable front, since its input has one channel.
void add_subsampling(std::vector<std::unique_ptr<Layer>>& sequence,
                     const SubsamplingOptions& options) {
  Image image{.frequencies = options.features};
  const bool separable = options.factor == 8;
  for (int number = 1; number <= (separable ? 3 : 2); ++number) {
    add_convolution(sequence, number, options.channels, separable && number > 1, image);
    sequence.push_back(std::make_unique<ClippedReLU>(part("relu", number),
                                                     std::numeric_limits<double>::infinity()));
  }
  sequence.push_back(
      std::make_unique<Linear>(LinearOptions{.name = "subsampling.linear",
                                             .in = image.frequencies * image.channels,
                                             .out = options.width}));
  if (options.scale != 1)
    sequence.push_back(std::make_unique<Scale>("subsampling.scale", options.scale));
}

}  // namespace penstock::layers
