#include "tests/support/layers/poisoned_layer.h"

#include <limits>

#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::test {
namespace {

void poison(layers::Context& c, const layers::Tensor& tensor) {
  const layers::Buffer host = layers::host_buffer(tensor.bytes());
  assign({host.data(), tensor.dtype, tensor.shape},
         std::vector<double>(static_cast<std::size_t>(tensor.size()),
                             std::numeric_limits<double>::infinity()));
  c.backend.copy_in(c.stream, tensor.data, host.data(), tensor.bytes());
}

}  // namespace

void PoisonedLayer::backward_input(layers::Context& c, const layers::Params& p,
                                   const layers::Activation& dy, layers::Saved s,
                                   layers::Activation& dx) const {
  inner_->backward_input(c, p, dy, s, dx);
  if (p.weights.empty() && calls_++ == call_) poison(c, dx.only().x_FC);
}

void PoisonedLayer::backward_weight(layers::Context& c, layers::Saved s,
                                    layers::Grads grads) const {
  inner_->backward_weight(c, s, grads);
  if (calls_++ == call_) poison(c, grads[0]);
}

}  // namespace penstock::test
