#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/losses/loss.h"
#include "layers/models/model_family.h"

namespace penstock::layers {

/// The networks of decoders other than CTC, which end a model of any family: the section [decoder]
/// of a recipe. model.decoder names the decoder.
struct DecoderOptions {
  std::string prediction = "lstm";  // lstm | stateless: network that reads the labels so far
  int width = 640;                  // channels of the prediction network
  int layers = 1;                   // lstm's layers
  int context = 2;                  // labels that a stateless network reads: 1 | 2
  int joint = 640;                  // channels of the joint network
  std::string activation = "relu";  // relu | tanh: of the joint network
  std::vector<int> durations = {0, 1, 2, 3, 4};  // tdt: frames that a token may take
  double sigma = 0.05;                           // tdt: subtracted from tokens' log-probabilities

  std::vector<Key> keys();
  /// Returns what contradicts in these options of the decoder `kind`.
  std::vector<Contradiction> contradictions(std::string_view kind) const;
  bool operator==(const DecoderOptions&) const = default;
};

/// The values of model.decoder.
inline constexpr std::string_view kDecoders[] = {"ctc", "rnnt", "tdt"};

/// Returns the loss of a decoder of that kind; with "ctc", the family's own. ConfigError if the
/// family has no loss.
[[nodiscard]] Loss decoder_loss(const ModelFamily& family, std::string_view kind,
                                const DecoderOptions& options);

}  // namespace penstock::layers
