#include "layers/losses/loss_share.h"

#include "layers/backend.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {

Tensor share_weights_in(Scratch& scratch, std::size_t utterances) {
  return tensor_in(scratch, DType::f32, {static_cast<std::int64_t>(utterances)});
}

Targets share_of(const Context& context, Scratch& scratch, std::size_t part, double share) {
  Targets targets = *context.targets;
  const std::size_t utterances = targets.weights.size();
  const Tensor weights_U = share_weights_in(scratch, utterances);
  context.backend.copy(context.stream, weights_U.data, targets.weights.data(), weights_U.bytes());
  context.backend.run(context.stream,
                      AddScaled{.x = {}, .f = weights_U, .y = weights_U, .scale = share});
  targets.weights = {weights_U.as<float>(), utterances};
  targets.losses = targets.losses.subspan(part * utterances, utterances);
  return targets;
}

}  // namespace penstock::layers
