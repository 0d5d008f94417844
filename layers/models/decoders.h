#pragma once

#include <vector>

#include "layers/models/decoder.h"

namespace penstock::layers {

/// Returns the decoders from which model.decoder chooses. A new decoder is a file beside this one,
/// and a line of decoders.cpp.
[[nodiscard]] std::vector<DecoderKind> decoders();

}  // namespace penstock::layers
