#pragma once

#include "layers/models/decoder.h"

namespace penstock::layers {

/// Returns the transducer of Graves (2012), with the networks of [decoder].
[[nodiscard]] DecoderKind rnnt_decoder();

/// Returns the same with durations (Xu et al. 2023).
[[nodiscard]] DecoderKind tdt_decoder();

}  // namespace penstock::layers
