#include "partition/layout/range_sizes.h"

#include <algorithm>
#include <array>

#include "partition/layout/saved_tensors.h"

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;

/// Returns the bytes of activation gradients in scratch. They alternate between two regions, for
/// even and odd places, each as large as its largest gradient.
std::ptrdiff_t gradients_in_scratch(const MicroBatchLayout& layout) {
  std::array<std::size_t, 2> max{};
  for (std::size_t i = 1; i < layout.gradient_places.size(); ++i)
    if (layout.gradient_places[i].region == Place::Region::scratch)
      max[i % 2] = std::max(max[i % 2], layers::aligned(layout.activations[i].bytes()));
  return static_cast<std::ptrdiff_t>(max[0] + max[1]);
}

}  // namespace

RangeSizes::RangeSizes(const MicroBatchLayout& layout, bool splits_backward)
    : slot(static_cast<std::ptrdiff_t>(layout.slot_bytes)),
      workspace(static_cast<std::ptrdiff_t>(layout.scratch_bytes - layout.workspace.offset)),
      gradients(gradients_in_scratch(layout)) {
  // With layers that have no backward, carried tensors are never in slots, whatever is chosen.
  if (layout.recomputed_runs.empty()) carried = static_cast<std::ptrdiff_t>(layout.carried_bytes);
  gradients_and_carried =
      splits_backward ? gradients : static_cast<std::ptrdiff_t>(layout.workspace.offset);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const layers::LayerPlan& plan = layout.layers[i];
    const bool kept = plan.runs_backward();
    own.push_back(kept ? static_cast<std::ptrdiff_t>(bytes_saved_by_forward(plan)) : 0);
    enters.push_back(static_cast<std::ptrdiff_t>(layers::aligned(layout.activations[i].bytes())));
    as_input.push_back(kept && keeps(plan, Kind::input));
    as_output.push_back(kept && keeps(plan, Kind::output));
  }
}

}  // namespace penstock::partition
