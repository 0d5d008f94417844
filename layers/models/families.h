#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/models/model_family.h"
#include "layers/nn/residual.h"

namespace penstock::layers {

/// The families that model.kind chooses from, each with its defaults; the first is the default one.
/// A new family is a file beside this one, and a line of families.cpp.
[[nodiscard]] std::vector<ModelFamily> model_families();

/// The layers from feature frames to the loss. ConfigError of no family; ShapeError for values that
/// make no model.
std::vector<std::unique_ptr<Layer>> build_layers(const ModelFamily& family, const ModelEnds& ends);

/// From now on the residual units of such a sequence make again, before backward, what their parts
/// without a product wrote, instead of keeping it (layers/nn/residual.h).
void remake_cheap_parts(std::span<const std::unique_ptr<Layer>> layers);

/// Of a residual unit; none of another layer.
[[nodiscard]] std::vector<ResidualPart> parts_of(const Layer& layer, const ActivationDecl& input,
                                                 const BackendSizes& sizes);

}  // namespace penstock::layers
