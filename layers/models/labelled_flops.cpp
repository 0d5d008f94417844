#include "layers/models/labelled_flops.h"

#include "layers/models/rated_layer.h"
#include "layers/nn/ctc.h"

namespace penstock::layers {

std::optional<Flops> labelled_flops(const Layer& layer, const ActivationDecl& input,
                                    std::span<const std::int64_t> labels) {
  const auto* const rated = dynamic_cast<const RatedLayer*>(&layer);
  if (dynamic_cast<const Ctc*>(rated != nullptr ? &rated->rated() : &layer) == nullptr)
    return std::nullopt;
  Flops flops = Ctc::flops(input.only(), labels);
  if (!layer.plan(input, {}).runs_backward()) flops.backward_input = 0;
  return flops;
}

}  // namespace penstock::layers
