#include "layers/models/deepspeech2.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/depthwise_conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"

// The builder appends the layers in the order in which they run, and follows how many columns a
// frame has. A convolution's frame is [frequency][channel], and each convolution halves the
// frequencies; only the first one halves the frames. The first recurrence takes all columns, later
// ones `hidden`. A norm precedes each recurrence but the first, whose input the convolutions have
// normalised. The projection of a recurrence is a layer of its own, and starts with the range of
// the recurrence's weights as in PyTorch, where both are one module. A one-directional model sees
// later frames through the lookahead alone, which is Amodei et al.'s row convolution.

namespace penstock::layers {
namespace {

// Kernel, stride and padding of both convolutions. With these, 161 features become 81 and then 41
// frequencies, and n frames (n + 1) / 2.
constexpr Conv2dAxis kFrequency1{41, 2, 20}, kTime1{11, 2, 5};
constexpr Conv2dAxis kFrequency2{21, 2, 10}, kTime2{11, 1, 5};

RecurrenceKind recurrence_kind(const std::string& rnn) {
  if (rnn == "tanh") return RecurrenceKind::tanh;
  if (rnn == "gru") return RecurrenceKind::gru;
  if (rnn == "lstm") return RecurrenceKind::lstm;
  throw ShapeError(fmt::format("DeepSpeech2 has no recurrence {}: rnn is tanh, gru or lstm", rnn));
}

/// Appends layer after layer to a sequence. It serves one build(), and refers to its caller's
/// options and ends.
class Builder {
 public:
  Builder(const DeepSpeech2Options& options, const ModelEnds& ends)
      : options_(options), ends_(ends), recurrence_(recurrence_kind(options.rnn)) {}

  std::vector<std::unique_ptr<Layer>> build() {
    std::int64_t frequencies = ends_.features;
    convolution("1", 1, frequencies, kFrequency1, kTime1);
    convolution("2", options_.channels, frequencies, kFrequency2, kTime2);
    for (std::int64_t i = 1; i <= options_.layers; ++i)
      recurrence(i, i == 1 ? frequencies * options_.channels : options_.hidden);
    if (!options_.bidirectional && options_.lookahead > 0) {
      add<DepthwiseConv1d>(DepthwiseConv1dOptions{
          .name = "lookahead", .channels = options_.hidden, .kernel = options_.lookahead});
      add<ClippedReLU>("lookahead.relu");
    }
    add<BatchNorm>(BatchNormOptions{.name = "output.norm", .channels = options_.hidden});
    ends_.add_output(sequence_, {.name = "output", .in = options_.hidden, .bias = false});
    ends_.add_decoder(sequence_);
    return std::move(sequence_);
  }

 private:
  /// Appends a layer, which the sequence owns. Returns it, so that its sizes can be asked.
  template <class Kind, class... Arguments>
  const Kind& add(Arguments&&... arguments) {
    auto layer = std::make_unique<Kind>(std::forward<Arguments>(arguments)...);
    const Kind& added = *layer;
    sequence_.push_back(std::move(layer));
    return added;
  }

  // Appends a convolution. `frequencies` is that of the input and becomes that of the output.
  // The norm's statistics are of a channel over all its frequencies, as those of PyTorch's
  // BatchNorm2d. The convolution has no bias, since the norm would subtract it again.
  void convolution(const std::string& number, std::int64_t in, std::int64_t& frequencies,
                   Conv2dAxis frequency, Conv2dAxis time) {
    frequencies = add<Conv2d>(Conv2dOptions{.name = "conv" + number,
                                            .in_channels = in,
                                            .out_channels = options_.channels,
                                            .in_frequencies = frequencies,
                                            .frequency = frequency,
                                            .time = time})
                      .out_frequencies();
    add<BatchNorm>(BatchNormOptions{
        .name = "norm" + number, .channels = options_.channels, .groups = frequencies});
    add<ClippedReLU>("relu" + number);
  }

  // Appends recurrent layer `i`. The projection makes one number for each direction, gate and
  // hidden channel. The recurrence adds its directions, so it always has `hidden` channels.
  void recurrence(std::int64_t i, std::int64_t in) {
    const std::string name = fmt::format("rnn{}", i);
    const RecurrenceOptions rnn{name, recurrence_, options_.bidirectional ? 2 : 1, options_.hidden};
    const std::int64_t gates = RecurrenceShape{.kind = recurrence_, .lengths = {}}.gates();
    if (i > 1) add<BatchNorm>(BatchNormOptions{.name = name + ".norm", .channels = in});
    add<Linear>(LinearOptions{.name = name + ".input",
                              .in = in,
                              .out = rnn.directions * gates * rnn.hidden,
                              .bound = 1 / std::sqrt(static_cast<double>(rnn.hidden))});
    add<Recurrence>(rnn);
    if (options_.dropout > 0 && i < options_.layers)
      add<Dropout>(fmt::format("dropout{}", i), options_.dropout);
  }

  const DeepSpeech2Options& options_;
  const ModelEnds& ends_;
  RecurrenceKind recurrence_;
  std::vector<std::unique_ptr<Layer>> sequence_;
};

}  // namespace

std::vector<Key> DeepSpeech2Options::keys() {
  return {
      Key("model.channels", &channels, between(1, 4096), "channels of both convolutions"),
      Key("model.rnn", &rnn, one_of({"tanh", "gru", "lstm"}), "kind of recurrence"),
      Key("model.hidden", &hidden, between(1, kMaxChannels), "channels of every recurrent layer"),
      Key("model.layers", &layers, between(1, 1000), "recurrent layers"),
      Key("model.bidirectional", &bidirectional, anything(),
          "run every recurrence in both directions and add them"),
      Key("model.lookahead", &lookahead, between(0, 10000),
          "frames that each output of a one-directional model sees, including its own; 0: no "
          "lookahead"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of channels dropped after every recurrent layer but the last"),
  };
}

// Blank is among ends.labels, so a model with one label has no letter to recognise.
std::vector<std::unique_ptr<Layer>> DeepSpeech2Options::build(const ModelEnds& ends) const {
  const std::pair<const char*, int> sizes[] = {{"features", ends.features},
                                               {"channels", channels},
                                               {"hidden", hidden},
                                               {"layers", layers},
                                               {"labels", ends.labels - 1}};
  for (const auto& [name, size] : sizes)
    if (size < 1)
      throw ShapeError(fmt::format("DeepSpeech2 needs at least 1 of {}{}", name,
                                   name == std::string("labels") ? " besides blank" : ""));
  return Builder(*this, ends).build();
}

}  // namespace penstock::layers
