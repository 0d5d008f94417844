#include "layers/models/subsampling.h"

#include <fmt/format.h>

#include <limits>

#include "layers/nn/clipped_relu.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/linear.h"

namespace penstock::layers {

void add_subsampling(std::vector<std::unique_ptr<Layer>>& sequence,
                     const SubsamplingOptions& options) {
  constexpr Conv2dAxis kHalving{.kernel = 3, .stride = 2, .padding = 1};
  std::int64_t channels = 1, frequencies = options.features;
  for (const char* number : {"1", "2"}) {
    auto convolution =
        std::make_unique<Conv2d>(Conv2dOptions{.name = fmt::format("subsampling.conv{}", number),
                                               .in_channels = channels,
                                               .out_channels = options.channels,
                                               .in_frequencies = frequencies,
                                               .frequency = kHalving,
                                               .time = kHalving,
                                               .bias = true});
    channels = options.channels;
    frequencies = convolution->out_frequencies();
    sequence.push_back(std::move(convolution));
    sequence.push_back(std::make_unique<ClippedReLU>(fmt::format("subsampling.relu{}", number),
                                                     std::numeric_limits<double>::infinity()));
  }
  sequence.push_back(std::make_unique<Linear>(LinearOptions{
      .name = "subsampling.linear", .in = frequencies * channels, .out = options.width}));
}

}  // namespace penstock::layers
