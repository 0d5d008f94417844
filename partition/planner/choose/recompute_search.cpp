#include "partition/planner/choose/recompute_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "partition/planner/choose/search_limits.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {

FreeingBound::FreeingBound(std::span<const double> bytes, std::span<const double> seconds) {
  std::vector<std::size_t> best;
  for (std::size_t layer = 0; layer < bytes.size(); ++layer)
    if (bytes[layer] > 0) best.push_back(layer);
  std::ranges::stable_sort(best, [&](std::size_t one, std::size_t other) {
    return bytes[one] * seconds[other] > bytes[other] * seconds[one];
  });
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    Sums sums{{0}, {0}};  // bytes rise along the list, by less and less per second
    for (const std::size_t layer : best) {
      if (layer < first) continue;
      sums.bytes.push_back(sums.bytes.back() + bytes[layer]);
      sums.seconds.push_back(sums.seconds.back() + seconds[layer]);
    }
    from_.push_back(std::move(sums));
  }
}

double FreeingBound::seconds(int first, double bytes) const {
  if (bytes <= 0) return 0;
  const Sums& sums = from_[std::min<std::size_t>(first, from_.size() - 1)];
  const auto enough = std::ranges::lower_bound(sums.bytes, bytes) - sums.bytes.begin();
  if (enough == std::ssize(sums.bytes)) return std::numeric_limits<double>::infinity();
  const double share =
      (bytes - sums.bytes[enough - 1]) / (sums.bytes[enough] - sums.bytes[enough - 1]);
  return sums.seconds[enough - 1] + share * (sums.seconds[enough] - sums.seconds[enough - 1]);
}

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

namespace {

/// A choice among the layers before a boundary. The last of these layers is not recomputed.
struct Label {
  double seconds = 0;
  RunSizes sizes = {};
  bool any = false;   // some layer is recomputed
  int from = -1;      // index of the label that it extends
  LayerRun run = {};  // the run that it adds; may be empty
};

/// One label-setting search for a choice that takes less than `below` seconds. See
/// RecomputeSearch.
class Labelling {
 public:
  Labelling(const ChunkSizes& sizes, std::span<const double> forward, const FreeingBound& bound,
            double room, std::size_t max_labels, double below)
      : sizes_(sizes),
        forward_(forward),
        bound_(bound),
        room_(room),
        max_labels_(max_labels),
        at_(forward.size() + 2),
        min_(below) {}

  std::optional<RecomputeChoice> best() {
    const int n = sizes_.layers();
    reach(0, {});
    // A label at boundary i extends to i + 1 if layer i is not recomputed. It extends to last + 1
    // if layers [i, last) are and layer `last` is not. All arcs go forward, so the labels of
    // boundary i are complete when the loop reaches it.
    for (int i = 0; i < n; ++i)
      for (const int label : sorted_labels(i)) {
        reach(i + 1, {all_[label].seconds,
                      sizes_.joined(all_[label].sizes, sizes_.without({i, i + 1})),
                      all_[label].any,
                      label,
                      {i, i}});
        double seconds = all_[label].seconds;
        for (int last = i + 1; last <= n; ++last) {
          seconds += forward_[last - 1];
          if (seconds >= min_) break;
          const LayerRun run{i, last};
          // The layer after a run is not recomputed; after the last layer there is none.
          reach(std::min(last + 1, n + 1),
                {seconds, sizes_.joined(all_[label].sizes, sizes_.of(run)), true, label, run});
        }
      }
    if (best_ < 0) return std::nullopt;
    return candidate();
  }
  /// True if best() has dropped no label because there were too many.
  bool exact() const { return exact_; }

 private:
  /// Adds a label, unless another one dominates it, or it can't lead to a choice that fits in less
  /// time than the best known.
  void reach(int boundary, const Label& label) {
    const double more =
        std::min(sizes_.change(label.sizes, true), sizes_.change(label.sizes, label.any)) - room_;
    // Layers after the boundary still have to free `more` bytes; the bound gives the least seconds.
    if (label.seconds + bound_.seconds(boundary, more) >= min_) return;
    auto& others = at_[boundary];
    for (const int other : others)
      if (no_worse(all_[other], label)) return;
    std::erase_if(others, [&](int other) { return no_worse(label, all_[other]); });
    others.push_back(static_cast<int>(all_.size()));
    all_.push_back(label);
    // Without any further recomputation, the label is a complete choice.
    const RunSizes whole = sizes_.joined(label.sizes, sizes_.without({boundary, sizes_.layers()}));
    if (sizes_.change(whole, label.any) <= room_) {
      min_ = label.seconds;
      best_ = others.back();
    }
    if (others.size() > 2 * max_labels_) thin(others);
  }

  /// True if `one` dominates `other`.
  bool no_worse(const Label& one, const Label& other) const {
    return one.seconds <= other.seconds && one.any == other.any &&
           sizes_.never_more(one.sizes, other.sizes);
  }

  /// Returns the labels of a boundary, by seconds.
  std::vector<int> sorted_labels(int boundary) {
    std::vector<int>& labels = at_[boundary];
    thin(labels);
    return labels;
  }

  /// Sorts labels by seconds, and drops those that a better choice has overtaken. Of too many it
  /// keeps an even sample.
  void thin(std::vector<int>& labels) {
    std::erase_if(labels, [&](int label) { return all_[label].seconds >= min_; });
    std::ranges::stable_sort(labels, {}, [&](int label) { return all_[label].seconds; });
    if (labels.size() <= max_labels_) return;
    exact_ = false;
    std::vector<int> kept;
    for (std::size_t i = 0; i < max_labels_; ++i)
      kept.push_back(labels[i * (labels.size() - 1) / (max_labels_ - 1)]);
    labels = std::move(kept);
  }

  /// Follows the best label back to its layers.
  RecomputeChoice candidate() const {
    RecomputeChoice candidate{.seconds = min_, .exact = exact_};
    if (!all_[best_].any) return candidate;
    candidate.layers.assign(sizes_.layers(), false);
    for (int label = best_; label >= 0; label = all_[label].from)
      for (int i = all_[label].run.first; i < all_[label].run.last; ++i) candidate.layers[i] = true;
    return candidate;
  }

  const ChunkSizes& sizes_;
  std::span<const double> forward_;
  const FreeingBound& bound_;
  double room_;  // limit less the bytes without recomputation; negative: too few
  std::size_t max_labels_;
  std::vector<Label> all_;
  /// Labels by boundary. The last entry is for runs that end the chunk.
  std::vector<std::vector<int>> at_;
  double min_;
  int best_ = -1;
  bool exact_ = true;
};

/// Returns the bytes by which recomputing these layers changes a chunk's memory.
double change_of(const ChunkSizes& sizes, const ChosenLayers& chosen) {
  RunSizes all;
  bool any = false;
  for (int i = 0; i < sizes.layers(); ++i) {
    LayerRun run{i, i};
    while (run.last < sizes.layers() && chosen[run.last]) ++run.last;
    any = any || run.last > i;
    all = sizes.joined(all, run.last > i ? sizes.of(run) : sizes.without({i, i + 1}));
    i = run.last;  // is not recomputed
  }
  return sizes.change(all, any);
}

/// Takes layers by the bytes that they free per second, as few as make the chunk fit. The number is
/// found by bisection.
std::optional<RecomputeChoice> greedy_choice(const ChunkSizes& sizes, std::span<const double> freed,
                                             std::span<const double> forward, double room) {
  std::vector<int> order(freed.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int one, int other) {
    return freed[one] * forward[other] > freed[other] * forward[one];
  });
  const auto first = [&](std::size_t count) {
    ChosenLayers chosen(order.size(), false);
    for (std::size_t i = 0; i < count; ++i) chosen[order[i]] = true;
    return chosen;
  };
  std::size_t too_few = 0, enough = order.size();  // `enough` layers fit, `too_few` do not
  if (change_of(sizes, first(enough)) > room) return std::nullopt;
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    if (change_of(sizes, first(middle)) <= room)
      enough = middle;
    else
      too_few = middle;
  }
  RecomputeChoice candidate{.layers = first(enough), .exact = false};
  for (std::size_t i = 0; i < enough; ++i) candidate.seconds += forward[order[i]];
  return candidate;
}

}  // namespace

const std::optional<RecomputeChoice>& RecomputeSearch::within(int first, int last, int chunk,
                                                              double limit) {
  const auto [at, fresh] = known_.try_emplace({first, last, chunk, limit});
  if (fresh) at->second = search(first, last, chunk, limit);
  return at->second;
}

std::optional<RecomputeChoice> RecomputeSearch::search(int first, int last, int chunk,
                                                       double limit) {
  const double room = limit - static_cast<double>(bytes_(first, last, chunk).total());
  if (room >= 0) return RecomputeChoice{};
  const ChunkSizes sizes(bytes_.training(first, last, chunk));
  const auto forward = std::span(forward_).subspan(first, last - first);
  std::vector<double> freed;
  for (int i = 0; i < sizes.layers(); ++i) freed.push_back(sizes.max_freed(i));
  if (forward_.size() > kLimits.labelled_layers) {
    exact_ = false;
    return greedy_choice(sizes, freed, forward, room);
  }
  const FreeingBound bound(freed, forward);
  Labelling quick(sizes, forward, bound, room, kLimits.few_labels, kInfeasible);
  auto first_found = quick.best();
  if (quick.exact()) return first_found;
  const std::size_t max = kLimits.labels_times_layers_squared / (forward.size() * forward.size());
  Labelling whole(sizes, forward, bound, room,
                  std::clamp(max, kLimits.few_labels, kLimits.max_labels),
                  first_found ? first_found->seconds : kInfeasible);
  auto candidate = whole.best();
  if (!candidate) candidate = std::move(first_found);
  if (candidate) candidate->exact = whole.exact();
  exact_ = exact_ && whole.exact();
  return candidate;
}

}  // namespace penstock::partition
