#pragma once

#include <string_view>

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Names of a class of transformers, and its blank's usual row.
struct ClassNames {
  std::string_view name, model_type, library, decoder, blank;
};

/// Returns the architecture of a class whose encoder is a FastConformer, without what follows the
/// encoder. The settings of the encoder are those of "encoder_config", and names of tensors begin
/// with "encoder.".
[[nodiscard]] Architecture fast_conformer(const ClassNames& names);

}  // namespace penstock::runtime
