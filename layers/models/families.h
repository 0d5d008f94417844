#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/models/model_family.h"
#include "layers/nn/residual.h"

namespace penstock::layers {

/// Returns the families from which model.kind chooses, each with its defaults. The first is the
/// default family. A new family is a file beside this one, and a line of families.cpp.
[[nodiscard]] std::vector<ModelFamily> model_families();

/// Returns the layers from feature frames to the loss of `ends`. ConfigError if `family` is none;
/// ShapeError for values that describe no model.
std::vector<std::unique_ptr<Layer>> build_layers(const ModelFamily& family, const ModelEnds& ends);

/// Makes the residual units of a sequence recompute, before backward, the outputs of their parts
/// without a product instead of saving them (layers/nn/residual.h).
void recompute_cheap_parts(std::span<const std::unique_ptr<Layer>> layers);

/// Returns the parts of a residual unit; empty for another layer.
[[nodiscard]] std::vector<ResidualPart> parts_of(const Layer& layer, const ActivationDecl& input,
                                                 const BackendSizes& sizes);

}  // namespace penstock::layers
