#pragma once

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Appends the settings of masks before the first block, which wav2vec 2.0, HuBERT and w2v-BERT
/// share, and their one tensor.
void add_span_masks(Architecture& architecture);

}  // namespace penstock::runtime
