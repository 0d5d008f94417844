#pragma once

#include "tools/gpu/facts/facts.h"

namespace penstock::tools {

// These functions return shapes of configs/models, for the utterances of `penstock bench --seconds
// 8`: 4 to 8 s.

/// Returns both convolutions of ds2-large, for 8 utterances.
std::vector<ConvolutionCase> convolutions_of_models();
/// Returns the input, step and head of ds2-large's recurrences, and the projections of the
/// feed-forward and attention layers of omni-ctc-300m and fastconformer-l.
std::vector<ProductCase> products_of_models();
/// Returns ds2-large's recurrence.
RecurrenceCase recurrence_of_models();

/// Returns the heads of omni-ctc-300m, omni-ctc-1b and omni-ctc-7b, and those of fastconformer-xxl,
/// which has relative positions.
std::vector<AttentionCase> attention_of_models();
/// Returns the frames of utterances of 3.7, 6, 15 and 30 s in wav2vec 2.0.
std::vector<std::int64_t> attention_lengths();

}  // namespace penstock::tools
