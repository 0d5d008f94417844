#include "layers/models/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "layers/losses/transducer_loss.h"

namespace penstock::layers {
namespace {

TransducerOptions transducer_options(std::string_view kind, const DecoderOptions& options) {
  TransducerOptions transducer;
  transducer.joint = options.joint;
  transducer.nonlinearity =
      options.activation == "tanh" ? JointNonlinearity::tanh : JointNonlinearity::relu;
  transducer.prediction = {
      .kind = options.prediction == "lstm" ? PredictionKind::lstm : PredictionKind::stateless,
      .embedding = options.width,
      .layers = options.layers,
      .hidden = options.width,
      .context = options.context};
  if (kind != "tdt") return transducer;
  transducer.durations.assign(options.durations.begin(), options.durations.end());
  transducer.sigma = options.sigma;
  return transducer;
}

}  // namespace

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
  };
}

std::vector<Contradiction> DecoderOptions::contradictions(std::string_view kind) const {
  std::vector<Contradiction> found;
  if (kind == "ctc" && *this != DecoderOptions{})
    found.push_back({"model.decoder",
                     "[decoder] has no effect on CTC: set model.decoder = rnnt or tdt, or leave "
                     "the section out"});
  if (kind != "ctc" && prediction == "stateless" && context == 2 && width % kPredictionGroup != 0)
    found.push_back(
        {"decoder.width",
         fmt::format("a stateless prediction network convolves groups of {} channels, and {} "
                     "can't be divided into them: choose decoder.width={}, or decoder.context=1",
                     kPredictionGroup, width, (width / kPredictionGroup + 1) * kPredictionGroup)});
  const bool ascend =
      std::ranges::adjacent_find(durations, std::greater_equal{}) == durations.end();
  // Without a duration of 1, an utterance's frames may not be a sum of durations.
  const bool has_one = std::ranges::find(durations, 1) != durations.end();
  if (kind == "tdt" && (!ascend || !has_one || std::ssize(durations) > kMaxDurations))
    found.push_back({"decoder.durations",
                     fmt::format("decoder.durations must ascend, contain 1 and have {} numbers at "
                                 "most, such as [0, 1, 2, 3, 4]",
                                 kMaxDurations)});
  return found;
}

Loss decoder_loss(const ModelFamily& family, std::string_view kind, const DecoderOptions& options) {
  return kind == "ctc" ? family.loss() : transducer_loss(transducer_options(kind, options));
}

}  // namespace penstock::layers
