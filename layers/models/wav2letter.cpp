#include "layers/models/wav2letter.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"

// Each convolution is followed by a norm, a clipped ReLU and dropout. It has no bias, since the
// norm would subtract it again. The first convolution of a block may have a stride; zeros at both
// ends see to it that n frames become ⌈n / stride⌉. A kernel of 1, as the last block has by
// default, acts on every frame by itself. All lists of options have an item for each block.

namespace penstock::layers {
namespace {

/// Pads a convolution so that the number of frames changes by the stride alone: as many zeros
/// before as after, and an odd one after.
Conv1dOptions centred(Conv1dOptions options) {
  const std::int64_t zeros = options.dilation * (options.kernel - 1);
  options.left = zeros / 2;
  options.right = zeros - zeros / 2;
  return options;
}

}  // namespace

std::vector<Key> Wav2LetterOptions::keys() {
  return {
      Key("model.channels", &channels, between(1, kMaxChannels), "channels of each block"),
      Key("model.kernels", &kernels, between(1, 1001), "frames under each block's convolutions"),
      Key("model.repeats", &repeats, between(1, 1000), "convolutions of each block"),
      Key("model.strides", &strides, between(1, 1001), "stride of each block's first convolution"),
      Key("model.dilations", &dilations, between(1, 1001),
          "frames from tap to tap of each block's convolutions"),
      Key("model.dropouts", &dropouts, between(0, 0.95),
          "share of numbers dropped after each of a block's convolutions"),
      Key("model.clip", &clip, above(0), "largest value that the clipped ReLU lets pass"),
  };
}

// The number of channels decides how many blocks there are, and the other lists are compared with
// it.
std::vector<Contradiction> Wav2LetterOptions::contradictions(int) const {
  if (channels.empty()) return {{"model.channels", "there is no block: name channels of one"}};
  const std::size_t blocks = channels.size();
  std::vector<Contradiction> found;
  const auto check = [&](std::string_view key, std::size_t count) {
    if (count == blocks) return;
    found.push_back({key, fmt::format("{} for {}: each block has one", counted(count, "number"),
                                      counted(blocks, "block"))});
  };
  check("model.kernels", kernels.size());
  check("model.repeats", repeats.size());
  check("model.strides", strides.size());
  check("model.dilations", dilations.size());
  check("model.dropouts", dropouts.size());
  return found;
}

std::vector<std::unique_ptr<Layer>> Wav2LetterOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (ends.labels < 2) throw ShapeError("a Wav2Letter model needs 1 label besides blank");
  std::vector<std::unique_ptr<Layer>> sequence;
  std::int64_t in = ends.features;
  for (std::size_t b = 0; b < channels.size(); ++b) {
    for (int i = 1; i <= repeats[b]; ++i) {
      const auto name = [&](const char* part) {
        return fmt::format("block{}.{}{}", b + 1, part, i);
      };
      sequence.push_back(std::make_unique<Conv1d>(centred({.name = name("conv"),
                                                           .in_channels = in,
                                                           .out_channels = channels[b],
                                                           .kernel = kernels[b],
                                                           .stride = i == 1 ? strides[b] : 1,
                                                           .dilation = dilations[b],
                                                           .bias = false})));
      sequence.push_back(std::make_unique<BatchNorm>(
          BatchNormOptions{.name = name("norm"), .channels = channels[b]}));
      sequence.push_back(std::make_unique<ClippedReLU>(name("relu"), clip));
      if (dropouts[b] > 0)
        sequence.push_back(std::make_unique<Dropout>(name("dropout"), dropouts[b]));
      in = channels[b];
    }
  }
  ends.add_output(sequence, {.name = "output", .in = in});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
