#include "tests/support/layers/poisoned_layer.h"

#include <limits>

#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::test {
namespace {

void poison(Context& c, const Tensor& tensor) {
  const Buffer host = host_buffer(tensor.bytes());
  assign({host.data(), tensor.dtype, tensor.shape},
         std::vector<double>(static_cast<std::size_t>(tensor.size()),
                             std::numeric_limits<double>::infinity()));
  c.backend.copy_in(c.stream, tensor.data, host.data(), tensor.bytes());
}

}  // namespace

void PoisonedLayer::backward_input(Context& c, const Params& p, const Activation& dy, Saved s,
                                   Activation& dx) const {
  inner_->backward_input(c, p, dy, s, dx);
  if (p.weights.empty() && calls_++ == call_) poison(c, dx.only().x_FC);
}

void PoisonedLayer::backward_weight(Context& c, Saved s, Grads grads) const {
  inner_->backward_weight(c, s, grads);
  if (calls_++ == call_) poison(c, grads[0]);
}

}  // namespace penstock::test
