#include "layers/layer.h"

namespace penstock::layers {

// Layers without parameters have no gradients to add, and those without state no sums to pool or
// commit.
void Layer::backward_weight(Context&, Saved, Grads) const {}

std::vector<double> Layer::pool(std::span<const double>) const { return {}; }

void Layer::commit_state(Context&, std::span<const double>, std::span<const Tensor>) const {}

ActivationDecl next_input(const ActivationDecl& input, const LayerPlan& plan) {
  ActivationDecl next = plan.output;
  next.ends_with_text |= input.ends_with_text;
  if (next.most_labels == 0) next.most_labels = input.most_labels;
  next.labels = plan.needs_targets ? input.labels_or_usual() : input.labels;
  return next;
}

// Columns 1 and 2 of the rows 0 1 2 and 3 4 5 are 1 2 4 5.
std::vector<double> columns(std::span<const double> rows, std::size_t width, std::size_t first,
                            std::size_t count) {
  std::vector<double> found;
  for (std::size_t begin = first; begin + count <= rows.size(); begin += width) {
    const std::span<const double> row = rows.subspan(begin, count);
    found.insert(found.end(), row.begin(), row.end());
  }
  return found;
}

}  // namespace penstock::layers
