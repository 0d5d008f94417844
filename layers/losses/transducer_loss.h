#pragma once

#include "layers/losses/loss.h"
#include "layers/losses/transducer.h"

namespace penstock::layers {

/// Returns the declaration of a transducer. The classes of `options` are ignored: the layer gets
/// those of the text.
[[nodiscard]] Loss transducer_loss(TransducerOptions options);

}  // namespace penstock::layers
