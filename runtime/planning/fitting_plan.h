#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Returns the run shape of a changed recipe.
using ShapeOfRecipe = std::function<RunShape(const configs::Config&)>;

/// Plans changed recipes until they fit into `bytes` per rank, and returns the changes as text:
/// more stages, or as many with smaller micro-batches. "pipeline.stages = 3 (at most 812 MiB a
/// rank)", "data.micro_batch_seconds = 12.5 (…)", both joined by "or", or that neither fits.
[[nodiscard]] std::string fitting_plan(const partition::LayerSequence& sequence,
                                       const configs::Config& config, const ShapeOfRecipe& shape_of,
                                       std::size_t bytes);

}  // namespace penstock::runtime
