#include "tests/support/poisoned_layer.h"

#include <limits>

#include "tests/support/tensors.h"

namespace penstock::test {
namespace {

void poison(const Tensor& tensor) {
  assign(tensor, std::vector<double>(static_cast<std::size_t>(tensor.size()),
                                     std::numeric_limits<double>::infinity()));
}

}  // namespace

void PoisonedLayer::backward_input(Context& c, const Params& p, const Activation& dy, Saved s,
                                   Activation& dx) const {
  inner_->backward_input(c, p, dy, s, dx);
  if (p.weights.empty() && calls_++ == call_) poison(dx.only().x_FC);
}

void PoisonedLayer::backward_weight(Context& c, Saved s, Grads grads) const {
  inner_->backward_weight(c, s, grads);
  if (calls_++ == call_) poison(grads[0]);
}

}  // namespace penstock::test
