#include "partition/choose/run_sizes.h"

#include <algorithm>

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;

bool keeps(const layers::LayerPlan& plan, Kind kind) {
  return std::ranges::count(plan.saved, kind, &layers::SavedDecl::kind) > 0;
}

std::ptrdiff_t saved_by_forward(const layers::LayerPlan& plan) {
  std::size_t bytes = 0;
  for (const layers::SavedDecl& saved : plan.saved)
    if (saved.kind == Kind::own && saved.life != layers::Life::carried)
      bytes += layers::aligned(static_cast<std::size_t>(layers::element_count(saved.shape)) *
                               layers::size_of(saved.dtype));
  return static_cast<std::ptrdiff_t>(bytes);
}

/// Of even and odd places.
std::ptrdiff_t gradients_in_scratch(const MicroBatchLayout& layout) {
  std::array<std::size_t, 2> most{};
  for (std::size_t i = 1; i < layout.gradient_places.size(); ++i)
    if (layout.gradient_places[i].region == Place::Region::scratch)
      most[i % 2] = std::max(most[i % 2], layers::aligned(layout.activations[i].bytes()));
  return static_cast<std::ptrdiff_t>(most[0] + most[1]);
}

void cover(std::array<std::ptrdiff_t, 2>& most, int place, std::ptrdiff_t bytes) {
  most[place % 2] = std::max(most[place % 2], bytes);
}

}  // namespace

ChunkSizes::ChunkSizes(const ChunkBytes::Training& training)
    : split_(training.splits_backward), count_(training.count), evaluation_(training.evaluation) {
  const MicroBatchLayout& layout =
      *std::ranges::max_element(training.layouts, {}, &MicroBatchLayout::slot_bytes);
  slot_ = static_cast<std::ptrdiff_t>(layout.slot_bytes);
  if (layout.recomputed_runs.empty())  // else it is not in slots, whatever is chosen
    carried_ = static_cast<std::ptrdiff_t>(layout.carried_bytes);
  workspace_ = static_cast<std::ptrdiff_t>(layout.scratch_bytes - layout.workspace.offset);
  gradients_ = gradients_in_scratch(layout);
  behind_gradients_ = split_ ? gradients_ : static_cast<std::ptrdiff_t>(layout.workspace.offset);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const layers::LayerPlan& plan = layout.layers[i];
    const bool kept = plan.runs_backward();
    own_.push_back(kept ? saved_by_forward(plan) : 0);
    enters_.push_back(static_cast<std::ptrdiff_t>(layers::aligned(layout.activations[i].bytes())));
    as_input_.push_back(kept && keeps(plan, Kind::input));
    as_output_.push_back(kept && keeps(plan, Kind::output));
  }
  const std::ptrdiff_t fewest = slot_ + of({0, layers()}).slot - carried_;  // where all are chosen
  slots_may_be_few_ = fewest * count_.slots < static_cast<std::ptrdiff_t>(evaluation_.slots);
}

RunSizes ChunkSizes::of(const LayerRun& run) const {
  RunSizes sizes;
  const bool inside = run.last < layers();  // the chunk's output stays anyway
  for (int i = run.first; i < run.last; ++i) sizes.recomputed += own_[i];
  for (int i = run.first + 1; i < run.last; ++i)
    if (is_kept(i)) sizes.recomputed += enters_[i];
  if (inside && as_output_[run.last - 1] && !as_input_[run.last])
    sizes.recomputed += enters_[run.last];
  sizes.slot = -sizes.recomputed;
  if (run.first > 0 && !is_kept(run.first)) sizes.slot += enters_[run.first];
  for (int i = run.first + 1; i < run.last + (inside ? 1 : 0); ++i)
    if (!is_kept(i) && (inside || split_)) cover(inside ? sizes.again : sizes.once, i, enters_[i]);
  return sizes;
}

RunSizes ChunkSizes::without(const LayerRun& layers) const {
  RunSizes sizes;
  for (int i = std::max(1, layers.first); split_ && i < layers.last; ++i)
    if (!is_kept(i)) cover(sizes.once, i, enters_[i]);
  return sizes;
}

RunSizes ChunkSizes::joined(const RunSizes& one, const RunSizes& other) const {
  RunSizes both{.slot = one.slot + other.slot,
                .recomputed = split_ ? one.recomputed + other.recomputed
                                     : std::max(one.recomputed, other.recomputed),
                .again = one.again,
                .once = one.once};
  for (int place : {0, 1}) {
    cover(both.again, place, other.again[place]);
    cover(both.once, place, other.once[place]);
  }
  return both;
}

double ChunkSizes::most_freed(int layer) const {
  const int times = split_ ? count_.slots - count_.recomputed : count_.slots;
  return static_cast<double>(std::max(0, times) * made_by(layer));
}

/// What takes turns (a maximum) grows by no more than the difference, whatever comes; so does
/// scratch, which never shrinks where a part of it grows. What adds up differs by as much in the
/// end as now, but slots where evaluations need more than them: then by less, or not at all.
bool ChunkSizes::never_more(const RunSizes& one, const RunSizes& other) const {
  const std::ptrdiff_t slots = (one.slot - other.slot) * count_.slots;
  std::ptrdiff_t others = (one.recomputed - other.recomputed) * count_.recomputed;
  if (!split_ || evaluation_.recomputed > 0) others = std::max<std::ptrdiff_t>(0, others);
  for (int place : {0, 1}) {
    others += std::max<std::ptrdiff_t>(0, one.again[place] - other.again[place]);
    others += std::max<std::ptrdiff_t>(0, one.once[place] - other.once[place]);
  }
  return slots + others <= 0 && (others <= 0 || !slots_may_be_few_);
}

double ChunkSizes::bytes(const RunSizes& all, bool any) const {
  const std::ptrdiff_t moved = any ? carried_ : 0;
  const std::ptrdiff_t slot = std::max<std::ptrdiff_t>(0, slot_ + all.slot - moved);
  const std::ptrdiff_t passing = std::max(all.once[0] + all.once[1], gradients_);
  const std::ptrdiff_t scratch =
      std::max(passing + all.again[0] + all.again[1], behind_gradients_) + workspace_;
  const auto larger = [](std::ptrdiff_t one, std::size_t other) {
    return static_cast<double>(std::max(one, static_cast<std::ptrdiff_t>(other)));
  };
  return larger(slot * count_.slots, evaluation_.slots) +
         larger((all.recomputed + moved) * count_.recomputed, evaluation_.recomputed) +
         larger(scratch, evaluation_.scratch);
}

double ChunkSizes::change(const RunSizes& all, bool any) const {
  return bytes(all, any) - bytes(without({0, layers()}), false);
}

}  // namespace penstock::partition
