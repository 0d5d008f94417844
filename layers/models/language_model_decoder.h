#pragma once

#include "layers/models/decoder.h"

namespace penstock::layers {

/// Returns the decoder "lm": a causal language model like Llama (Touvron et al. 2023) that hears.
/// It reads the encoder's frames, projected to its width, then a prompt and the text, and predicts
/// the text token by token, as in OmniASR's LLM models (Omnilingual ASR team 2025).
[[nodiscard]] DecoderKind language_model_decoder();

}  // namespace penstock::layers
