#include "layers/models/qwen3_asr.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/models/residual_units.h"
#include "layers/nn/chunk_padding.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/sinusoidal_positions.h"

// The tower cuts each utterance into chunks of frames, by default of one second. Three convolutions
// of 3 × 3 and stride 2 see each chunk alone, and positions begin anew with each. The blocks are
// those of Whisper, but attention sees a window of several chunks, by default of eight.
//
// transformers pads the last chunk with zeros until it is full, and drops the frames that come out
// for the padding alone. A frame after the convolutions sees up to 7 frames of padding, so these
// are appended here (frontend.pad), and nothing has to be dropped. Chunks are pieces of the packed
// utterances (layers/nn/pieces.h), and so are windows: no length depends on other utterances.
//
// A chunk of c frames becomes one of ⌈⌈⌈c/2⌉/2⌉/2⌉. With transformers' 100 these are 50, 25 and 13,
// and a window of 800 has 8 · 13 frames.
//
// Rows are [frequency][channel] here and [channel][frequency] in transformers. So frontend.linear's
// weight has at column f · channels + c what theirs has at column c · frequencies + f.

namespace penstock::layers {
namespace {

constexpr Conv2dAxis kHalving{.kernel = 3, .stride = 2, .padding = 1};
constexpr int kConvolutions = 3;

void add_convolutions(std::vector<std::unique_ptr<Layer>>& sequence, const Qwen3AsrOptions& options,
                      std::int64_t features) {
  sequence.push_back(std::make_unique<ChunkPadding>(ChunkPaddingOptions{
      .name = "frontend.pad", .chunk = options.chunk, .multiple = 1 << kConvolutions}));
  std::int64_t channels = 1, frequencies = features, piece = options.chunk;
  for (int number = 1; number <= kConvolutions; ++number) {
    auto convolution =
        std::make_unique<Conv2d>(Conv2dOptions{.name = fmt::format("frontend.conv{}", number),
                                               .in_channels = channels,
                                               .out_channels = options.channels,
                                               .in_frequencies = frequencies,
                                               .frequency = kHalving,
                                               .time = kHalving,
                                               .bias = true,
                                               .piece = piece});
    channels = options.channels;
    frequencies = convolution->out_frequencies();
    piece = kHalving.outputs(piece);
    sequence.push_back(std::move(convolution));
    sequence.push_back(std::make_unique<Nonlinearity>(fmt::format("frontend.act{}", number),
                                                      NonlinearityKind::gelu));
  }
  sequence.push_back(std::make_unique<Linear>(LinearOptions{.name = "frontend.linear",
                                                            .in = frequencies * channels,
                                                            .out = options.width,
                                                            .bias = false}));
  sequence.push_back(std::make_unique<SinusoidalPositions>(
      "positions", SinusoidOptions{.order = SinusoidOrder::halves, .period = piece}));
}

/// Returns the frames of a full chunk after the convolutions.
std::int64_t frames_of_chunk(std::int64_t frames) {
  for (int i = 0; i < kConvolutions; ++i) frames = kHalving.outputs(frames);
  return frames;
}

}  // namespace

std::vector<Key> Qwen3AsrOptions::keys() {
  return {
      Key("model.channels", &channels, between(1, kMaxChannels), "channels of the convolutions"),
      Key("model.chunk", &chunk, between(1, 65536),
          "feature frames of a chunk, which the convolutions see alone; positions begin anew with "
          "each"),
      Key("model.window", &window, between(1, 1'000'000),
          "feature frames of a window, within which attention sees; a multiple of the chunk"),
      Key("model.width", &width, between(4, kMaxChannels),
          "channels of every block; an even number"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.inner", &inner, between(1, kMaxChannels),
          "channels within each feed-forward unit"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
}

std::vector<Contradiction> Qwen3AsrOptions::contradictions(int) const {
  std::vector<Contradiction> found;
  if (heads < 1 || width % heads != 0)
    found.push_back({"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                                counted(heads, "head"), width)});
  if (width < 4 || width % 2 != 0)
    found.push_back(
        {"model.width", fmt::format("a width of {} has no halves for sines and cosines: choose an "
                                    "even number from 4 on",
                                    width)});
  if (chunk < 1 || window < 1 || window % chunk != 0)
    found.push_back(
        {"model.window", fmt::format("a window of {} does not consist of whole chunks of {}",
                                     counted(window, "frame"), chunk)});
  return found;
}

std::vector<std::unique_ptr<Layer>> Qwen3AsrOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a Qwen3-ASR tower needs at least 1 block, and 1 label besides blank");
  std::vector<std::unique_ptr<Layer>> sequence;
  add_convolutions(sequence, *this, ends.features);
  for (int i = 1; i <= layers; ++i) {
    sequence.push_back(attention_unit({.name = fmt::format("block{}.attention", i),
                                       .width = width,
                                       .heads = heads,
                                       .dropout = dropout,
                                       .layer_drop = layer_drop,
                                       .window = frames_of_chunk(chunk) * (window / chunk)}));
    sequence.push_back(feed_forward_unit({.name = fmt::format("block{}.feed_forward", i),
                                          .width = width,
                                          .inner = inner,
                                          .activation = NonlinearityKind::gelu,
                                          .dropout = dropout,
                                          .layer_drop = layer_drop}));
  }
  sequence.push_back(
      std::make_unique<LayerNorm>(LayerNormOptions{.name = "norm", .channels = width}));
  sequence.push_back(std::make_unique<Linear>(
      LinearOptions{.name = "projector.linear", .in = width, .out = width}));
  sequence.push_back(std::make_unique<Nonlinearity>("projector.act", NonlinearityKind::gelu));
  ends.add_output(sequence, {.name = "output", .in = width});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
