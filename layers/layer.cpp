#include "layers/layer.h"

namespace penstock::layers {

void Layer::backward_weight(Context&, Saved, Grads) const {}

void Layer::commit_state(Context&, std::span<const double>, std::span<const Tensor>) const {}

}  // namespace penstock::layers
