#pragma once

#include <algorithm>

#include "layers/layer_plan.h"

namespace penstock::partition {

/// Returns true if the layer saves a tensor of this kind, such as its input.
inline bool keeps(const layers::LayerPlan& plan, layers::SavedDecl::Kind kind) {
  return std::ranges::any_of(plan.saved,
                             [kind](const layers::SavedDecl& saved) { return saved.kind == kind; });
}

/// Returns the bytes of one saved tensor.
inline std::size_t bytes_of(const layers::SavedDecl& saved) {
  return layers::aligned(static_cast<std::size_t>(layers::element_count(saved.shape)) *
                         layers::size_of(saved.dtype));
}

/// Returns the bytes that the layer's forward saves for its own backward.
inline std::size_t bytes_saved_by_forward(const layers::LayerPlan& plan) {
  std::size_t bytes = 0;
  for (const layers::SavedDecl& saved : plan.saved)
    if (saved.kind == layers::SavedDecl::Kind::own && saved.life != layers::Life::carried)
      bytes += bytes_of(saved);
  return bytes;
}

}  // namespace penstock::partition
