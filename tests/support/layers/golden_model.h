#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace penstock::test {

using LayerSequence = std::vector<std::unique_ptr<layers::Layer>>;

struct ModelTolerance {
  /// max|a - b| / max|b|; of a gradient that is 0, max|a| over the largest one of the model.
  double loss, gradient;
};

/// Fails the test unless a whole model with a loss, for the ragged batch of a golden file, has its
/// losses and the gradient of every parameter. The file has "x", "lengths", "output_lengths",
/// "labels", "label_counts" and "losses", each parameter by its name, and its gradient by "d " and
/// the name.
void expect_golden_model(const LayerSequence& sequence, const std::string& golden,
                         layers::DType dtype, ModelTolerance tolerance);

/// Fails the test unless a whole model in evaluation has the losses of a golden file, and before
/// the loss its "logits", to max|a - b| / max|b|. The file has, besides "x", "lengths" and so on as
/// above, each parameter and each state by its name.
void expect_golden_evaluation(const LayerSequence& sequence, const std::string& golden,
                              layers::DType dtype, double tolerance);

/// The layers' names.
std::vector<std::string> names(const LayerSequence& sequence);

/// Numbers of all parameters, for frames of so many features.
std::int64_t parameter_count(const LayerSequence& sequence, std::int64_t features);

}  // namespace penstock::test
