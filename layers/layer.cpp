#include "layers/layer.h"

namespace penstock::layers {

void Layer::backward_weight(Context&, Saved, Grads) const {}

std::vector<double> Layer::pool(std::span<const double>) const { return {}; }

void Layer::commit_state(Context&, std::span<const double>, std::span<const Tensor>) const {}

}  // namespace penstock::layers
