#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "layers/layer.h"

namespace penstock::layers {

/// Returns the operations of a loss, which depend on the number of labels of each utterance
/// (Ctc::flops), except those that the layer's plan leaves out. Nothing for any other layer.
[[nodiscard]] std::optional<Flops> labelled_flops(const Layer& layer, const ActivationDecl& input,
                                                  std::span<const std::int64_t> labels);

}  // namespace penstock::layers
