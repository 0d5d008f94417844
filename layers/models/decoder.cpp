#include "layers/models/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace penstock::layers {

std::vector<Key> DecoderOptions::keys() {
  return {
      Key("decoder.prediction", &prediction, one_of({"lstm", "stateless"}),
          "network that reads a transducer's labels so far: an LSTM reads all of them, a stateless "
          "one the last few"),
      Key("decoder.width", &width, between(1, kMaxChannels),
          "channels of the prediction network and its embedding"),
      Key("decoder.layers", &layers, between(1, 100), "layers of the LSTM"),
      Key("decoder.context", &context, between(1, 2),
          "labels that a stateless prediction network reads"),
      Key("decoder.joint", &joint, between(1, kMaxChannels), "channels of the joint network"),
      Key("decoder.activation", &activation, one_of({"relu", "tanh"}),
          "nonlinearity of the joint network"),
      Key("decoder.durations", &durations, between(0, 1000),
          "frames that a label or a blank may take, ascending, with model.decoder = tdt"),
      Key("decoder.sigma", &sigma, between(0, 1),
          "number subtracted from log-probabilities of labels in training, with model.decoder = "
          "tdt, which makes long durations likelier"),
      Key("decoder.ctc_weight", &ctc_weight, between(0, 0.99),
          "share of a CTC loss that is trained beside the transducer's, with channels of its own "
          "in "
          "the layer output; 0: none"),
  };
}

DecoderKind find_decoder(std::span<const DecoderKind> decoders, std::string_view name) {
  const auto found = std::ranges::find(decoders, name, &DecoderKind::name);
  if (found != decoders.end()) return *found;
  std::vector<std::string_view> names;
  for (const DecoderKind& decoder : decoders) names.push_back(decoder.name);
  throw ConfigError(
      fmt::format("no decoder is named {}: it is one of {}", name, fmt::join(names, ", ")));
}

}  // namespace penstock::layers
