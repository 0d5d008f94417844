#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// The shape of the run that a changed recipe would make.
using ShapeOfRecipe = std::function<RunShape(const configs::Config&)>;

/// What would have a recipe fit where each rank may take so many bytes, found by planning: more
/// stages, or as many with smaller micro-batches. "pipeline.stages = 3 (at most 812 MiB a rank)",
/// "data.micro_batch_seconds = 12.5 (…)", both joined by "or", or that neither fits.
[[nodiscard]] std::string fitting_plan(const partition::LayerSequence& sequence,
                                       const configs::Config& config, const ShapeOfRecipe& shape_of,
                                       std::size_t bytes);

}  // namespace penstock::runtime
