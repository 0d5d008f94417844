#include "layers/models/transducer_decoders.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "layers/losses/transducer_ctc.h"
#include "layers/losses/transducer_loss.h"

namespace penstock::layers {
namespace {

TransducerOptions rnnt_options(const DecoderOptions& options) {
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
  return transducer;
}

TransducerOptions tdt_options(const DecoderOptions& options) {
  TransducerOptions transducer = rnnt_options(options);
  transducer.durations.assign(options.durations.begin(), options.durations.end());
  transducer.sigma = options.sigma;
  return transducer;
}

/// Keys of both, of which an RNN-T ignores the last two.
const std::vector<std::string_view> kKeys = {
    "decoder.prediction", "decoder.width",     "decoder.layers",
    "decoder.context",    "decoder.joint",     "decoder.activation",
    "decoder.ctc_weight", "decoder.durations", "decoder.sigma"};

/// Returns the loss of a transducer, with that of CTC beside it if that has a weight.
Loss loss_of(const TransducerOptions& transducer, const DecoderOptions& options) {
  if (options.ctc_weight == 0) return transducer_loss(transducer);
  return transducer_ctc_loss(transducer, options.ctc_weight);
}

std::vector<Contradiction> rnnt_contradictions(const DecoderOptions& options) {
  const int width = options.width;
  if (options.activation != "relu" && options.activation != "tanh")
    return {{"decoder.activation",
             fmt::format("a joint network has no {}: choose relu or tanh", options.activation)}};
  if (options.prediction != "stateless" || options.context != 2 || width % kPredictionGroup == 0)
    return {};
  return {
      {"decoder.width",
       fmt::format("a stateless prediction network convolves groups of {} channels, and {} "
                   "can't be divided into them: choose decoder.width={}, or decoder.context=1",
                   kPredictionGroup, width, (width / kPredictionGroup + 1) * kPredictionGroup)}};
}

std::vector<Contradiction> tdt_contradictions(const DecoderOptions& options) {
  std::vector<Contradiction> found = rnnt_contradictions(options);
  const auto& durations = options.durations;
  const bool ascend =
      std::ranges::adjacent_find(durations, std::greater_equal{}) == durations.end();
  // Without a duration of 1, an utterance's frames may not be a sum of durations.
  const bool has_one = std::ranges::find(durations, 1) != durations.end();
  if (!ascend || !has_one || std::ssize(durations) > kMaxDurations)
    found.push_back({"decoder.durations",
                     fmt::format("decoder.durations must ascend, contain 1 and have {} numbers at "
                                 "most, such as [0, 1, 2, 3, 4]",
                                 kMaxDurations)});
  return found;
}

}  // namespace

DecoderKind rnnt_decoder() {
  return {.name = "rnnt",
          .loss = [](const DecoderOptions& o) { return loss_of(rnnt_options(o), o); },
          .contradictions = rnnt_contradictions,
          .keys = kKeys};
}

DecoderKind tdt_decoder() {
  return {.name = "tdt",
          .loss = [](const DecoderOptions& o) { return loss_of(tdt_options(o), o); },
          .contradictions = tdt_contradictions,
          .keys = kKeys};
}

}  // namespace penstock::layers
