#pragma once

#include <cstddef>

#include "layers/context.h"
#include "layers/scratch.h"

namespace penstock::layers {

// A loss that is the weighted sum of several gives each of them weights of utterances that are
// multiplied by its share, so that losses and gradients are weighted where they arise.

/// Returns memory for the weights of one part.
[[nodiscard]] Tensor share_weights_in(Scratch& scratch, std::size_t utterances);

/// Returns the targets of one part of the loss, with weights that are multiplied by its share, in
/// memory of `scratch`. Losses of part p follow those of the parts before it in Targets::losses.
[[nodiscard]] Targets share_of(const Context& context, Scratch& scratch, std::size_t part,
                               double share);

}  // namespace penstock::layers
