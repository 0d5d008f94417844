#include "layers/models/decoders.h"

#include "layers/losses/ctc.h"
#include "layers/models/attention_decoder.h"
#include "layers/models/language_model_decoder.h"
#include "layers/models/transducer_decoders.h"

namespace penstock::layers {
namespace {

/// Returns CTC, which has no network of its own, and so no options.
DecoderKind ctc_decoder() {
  return {.name = "ctc",
          .loss = [](const DecoderOptions&) { return ctc_loss(); },
          .contradictions = [](const DecoderOptions&) -> std::vector<Contradiction> { return {}; }};
}

}  // namespace

std::vector<DecoderKind> decoders() {
  return {ctc_decoder(), rnnt_decoder(), tdt_decoder(), language_model_decoder(),
          attention_decoder()};
}

}  // namespace penstock::layers
