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

}  // namespace penstock::tools
