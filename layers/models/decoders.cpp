#include "layers/models/decoders.h"

#include "layers/losses/ctc.h"
#include "layers/models/transducer_decoders.h"

namespace penstock::layers {
namespace {

/// Returns CTC, which has no network of its own, and so no options.
DecoderKind ctc_decoder() {
  return {.name = "ctc",
          .loss = [](const DecoderOptions&) { return ctc_loss(); },
          .contradictions = [](const DecoderOptions& options) -> std::vector<Contradiction> {
            if (options == DecoderOptions{}) return {};
            return {{"model.decoder",
                     "[decoder] has no effect on CTC: set model.decoder = rnnt or tdt, or leave "
                     "the section out"}};
          }};
}

}  // namespace

std::vector<DecoderKind> decoders() { return {ctc_decoder(), rnnt_decoder(), tdt_decoder()}; }

}  // namespace penstock::layers
