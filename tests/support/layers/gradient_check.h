#pragma once

#include "tests/support/layers/layer_runner.h"

namespace penstock::test {

struct GradientCheck {
  double step = 1e-5;           // of the central differences
  double tolerance = 1e-6;      // of max|a-b| / max|b| for each input and parameter
  std::int64_t elements = 300;  // of each tensor at most, sampled by `seed`
  std::uint64_t seed = 1;
};

/// Fails the test unless backward_input and backward_weight agree with FP64 central differences of
/// one linear functional of the output: its product with `runner.output_gradient()`, and, of layers
/// with a loss, the sum of the utterances' losses times Targets::scale. The runner computes in FP64
/// and its inputs, parameters and output gradients are set and away from kinks. Checked as well:
/// weight gradients are added to what was there, and don't change where nobody needs the input's.
void check_gradients(LayerRunner& runner, const GradientCheck& how = {});

}  // namespace penstock::test
