#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "layers/layer.h"

namespace penstock::layers {

/// Operations of a loss for which the number of labels of each utterance counts (Ctc::flops), as
/// far as the layer's plan has them; nothing of any other layer.
[[nodiscard]] std::optional<Flops> labelled_flops(const Layer& layer, const ActivationDecl& input,
                                                  std::span<const std::int64_t> labels);

}  // namespace penstock::layers
