#include "layers/models/decoders.h"

#include "layers/losses/ctc.h"
#include "layers/models/attention_decoder.h"
#include "layers/models/language_model_decoder.h"
#include "layers/models/transducer_decoders.h"

namespace penstock::layers {
namespace {

/// Returns CTC, which has no network of its own.
DecoderKind ctc_decoder() {
  return {.name = "ctc",
          .loss = [](const DecoderOptions& options) { return ctc_loss(options.smoothing); },
          .contradictions = [](const DecoderOptions&) -> std::vector<Contradiction> { return {}; },
          .keys = {"decoder.smoothing"}};
}

}  // namespace

std::vector<DecoderKind> decoders() {
  return {ctc_decoder(), rnnt_decoder(), tdt_decoder(), language_model_decoder(),
          attention_decoder()};
}

}  // namespace penstock::layers
