#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/ops/attention.h"
#include "layers/ops/conv2d.h"

namespace penstock::tools {

// These functions list what NVIDIA's libraries offer for given shapes, and measure times. Results
// are rows of text.

/// Receives a row, or a heading, which begins with "#".
using Say = std::function<void(const std::string&)>;

struct ConvolutionCase {
  std::string name;
  layers::Conv2dGeometry geometry;  // without its lengths, which follow
  std::vector<std::int64_t> lengths;
};

/// The product y = x · wᵀ, with `rows_of_utterance` rows for each utterance.
struct ProductCase {
  std::string name;
  layers::DType dtype, result;
  std::int64_t rows_of_utterance, inner, columns;
  int batch;
  bool bias;
};

/// A bidirectional LSTM on utterances of `frames` frames, and of `more_frames`.
struct RecurrenceCase {
  std::string name;
  layers::DType dtype;
  std::int64_t hidden, frames, more_frames;
};

/// Shape of a layer's self-attention.
struct AttentionCase {
  layers::DType dtype;
  std::int64_t heads, head_channels;
  bool relative;  // relative positions, as in Conformers
};

/// Lists cuDNN's algorithms for each case in FP32, FP16 and BF16, in each pass: place, algorithm,
/// math type, determinism, workspace and status.
void tell_convolutions(const std::vector<ConvolutionCase>& cases, const Say& say);

/// Lists cuBLASLt's best algorithms for each case and number of utterances: place, state,
/// workspace, waves, and microseconds of a product.
void tell_products(layers::Backend& backend, const std::vector<ProductCase>& cases,
                   const std::vector<std::int64_t>& utterances, const Say& say);

/// Measures microseconds on host and device: of an empty launch, and for each number of utterances,
/// of a recurrence's product, its whole time step and, unless the step is a single kernel, its
/// gates.
void tell_times(layers::Backend& backend, const RecurrenceCase& of,
                const std::vector<std::int64_t>& utterances, const Say& say);

/// Measures microseconds of attention alone, forward and backward, and its 10^12 operations per
/// second, for utterances of each of these lengths, which have `all_frames` frames in total.
void tell_attention(layers::Backend& backend, const std::vector<AttentionCase>& cases,
                    const std::vector<std::int64_t>& lengths, std::int64_t all_frames,
                    const Say& say);

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
