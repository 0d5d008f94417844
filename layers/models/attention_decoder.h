#pragma once

#include "layers/models/decoder.h"

namespace penstock::layers {

/// Returns the decoder "attention": a Transformer that writes the text from itself and from the
/// encoder's output, to which it attends (Vaswani et al. 2017), as in Whisper, Canary, Cohere's
/// recogniser and ESPnet. With decoder.ctc_weight, CTC of the encoder's output is trained beside.
[[nodiscard]] DecoderKind attention_decoder();

}  // namespace penstock::layers
