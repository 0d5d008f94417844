#pragma once

#include "tools/gpu/facts/facts.h"

namespace penstock::tools {

// Shapes of configs/models, for utterances as `penstock bench --seconds 8` has them: 4 to 8 s.

/// Both of ds2-large, for 8 utterances.
std::vector<ConvolutionCase> convolutions_of_models();
/// Of ds2-large the recurrences' input and step and the head; of omni-ctc-300m and fastconformer-l
/// the feed-forward's and attention's projections.
std::vector<ProductCase> products_of_models();
/// ds2-large's.
RecurrenceCase recurrence_of_models();

/// Heads of omni-ctc-300m, omni-ctc-1b and omni-ctc-7b, and fastconformer-xxl's, which has relative
/// positions.
std::vector<AttentionCase> attention_of_models();
/// Frames of utterances: 3.7, 6, 15 and 30 s of wav2vec 2.0.
std::vector<std::int64_t> attention_lengths();

}  // namespace penstock::tools
