#include "partition/planner/choose/run_sizes.h"

#include <algorithm>

namespace penstock::partition {
namespace {

/// Raises the maximum for even or odd places to `bytes`.
void cover(std::array<std::ptrdiff_t, 2>& max, int place, std::ptrdiff_t bytes) {
  max[place % 2] = std::max(max[place % 2], bytes);
}

}  // namespace

ChunkSizes::ChunkSizes(const ChunkBytes::Training& training)
    : split_(training.splits_backward),
      count_(training.count),
      evaluation_(training.evaluation),
      range_(training.sizes) {
  const std::ptrdiff_t min =  // if all layers are recomputed
      range_->slot + of({0, layers()}).slot - range_->carried;
  slots_may_be_few_ = min * count_.slots < static_cast<std::ptrdiff_t>(evaluation_.slots);
}

RunSizes ChunkSizes::of(const LayerRun& run) const {
  RunSizes sizes;
  const bool inside = run.last < layers();  // the chunk's output stays in any case
  for (int i = run.first; i < run.last; ++i) sizes.recomputed += range_->own[i];
  for (int i = run.first + 1; i < run.last; ++i)
    if (is_kept(i)) sizes.recomputed += range_->enters[i];
  if (inside && range_->as_output[run.last - 1] && !range_->as_input[run.last])
    sizes.recomputed += range_->enters[run.last];
  sizes.slot = -sizes.recomputed;
  if (run.first > 0 && !is_kept(run.first)) sizes.slot += range_->enters[run.first];
  for (int i = run.first + 1; i < run.last + (inside ? 1 : 0); ++i)
    if (!is_kept(i) && (inside || split_))
      cover(inside ? sizes.again : sizes.once, i, range_->enters[i]);
  return sizes;
}

RunSizes ChunkSizes::without(const LayerRun& layers) const {
  RunSizes sizes;
  for (int i = std::max(1, layers.first); split_ && i < layers.last; ++i)
    if (!is_kept(i)) cover(sizes.once, i, range_->enters[i]);
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

double ChunkSizes::max_freed(int layer) const {
  const int times = split_ ? count_.slots - count_.recomputed : count_.slots;
  return static_cast<double>(std::max(0, times) * made_by(layer));
}

/// A maximum of two sizes differs by no more than the sizes do, whatever is joined later. The same
/// holds for scratch, which is monotonic in each of its parts. Sums keep their difference, with one
/// exception: if evaluations need more than the slots, slots differ by less, or not at all. Then a
/// smaller slot makes up for nothing.
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
  const std::ptrdiff_t moved = any ? range_->carried : 0;
  const std::ptrdiff_t slot = std::max<std::ptrdiff_t>(0, range_->slot + all.slot - moved);
  const std::ptrdiff_t passing = std::max(all.once[0] + all.once[1], range_->gradients);
  const std::ptrdiff_t scratch =
      std::max(passing + all.again[0] + all.again[1], range_->gradients_and_carried) +
      range_->workspace;
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
