#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/losses/loss.h"

namespace penstock::layers {

/// The networks of decoders other than CTC, which end a model of any family: the section [decoder]
/// of a recipe.
struct DecoderOptions {
  std::string prediction = "lstm";  // lstm | stateless: network that reads the labels so far
  int width = 640;                  // channels of the prediction network
  int layers = 1;                   // lstm's layers
  int context = 2;                  // labels that a stateless network reads: 1 | 2
  int joint = 640;                  // channels of the joint network
  std::string activation = "relu";  // relu | tanh: of the joint network
  std::vector<int> durations = {0, 1, 2, 3, 4};  // tdt: frames that a token may take
  double sigma = 0.05;                           // tdt: subtracted from tokens' log-probabilities
  double ctc_weight = 0;  // share of a CTC loss that is trained beside a transducer's; 0: none

  std::vector<Key> keys();
  bool operator==(const DecoderOptions&) const = default;
};

/// A decoder: what turns an encoder's frames into labels, and learns to.
struct DecoderKind {
  std::string_view name;  // a value of model.decoder

  /// Makes the loss of a decoder with these options, which brings the layers that end a model.
  Loss (*loss)(const DecoderOptions& options);

  /// Returns what contradicts in these options.
  std::vector<Contradiction> (*contradictions)(const DecoderOptions& options);
};

/// Returns the decoder of that name. ConfigError, which lists all names, if there is none.
[[nodiscard]] DecoderKind find_decoder(std::span<const DecoderKind> decoders,
                                       std::string_view name);

}  // namespace penstock::layers
