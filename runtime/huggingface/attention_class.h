#pragma once

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Adds what all classes with an attention decoder have in common: the token that ends a text has
/// label 0, and the prompt names English unless another language is chosen.
void complete_attention_class(Architecture& architecture);

}  // namespace penstock::runtime
