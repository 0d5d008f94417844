#include "partition/planner/choose/recompute_search.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "partition/planner/choose/freeing_bound.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

// Most labels at a boundary: in a first round, which gives an upper bound, and in the exact round.
// Long chunks get fewer, so that no chunk takes more than a few seconds.
constexpr std::size_t kFewLabels = 30, kMaxLabels = 1000, kLabelsTimesLayersSquared = 3'000'000;

// Longer sequences get the greedy choice: a cut of them asks for tens of thousands of chunks.
constexpr std::size_t kLongSequence = 64;

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
    return choice();
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
  RecomputeChoice choice() const {
    RecomputeChoice choice{.seconds = min_, .exact = exact_};
    if (!all_[best_].any) return choice;
    choice.layers.assign(sizes_.layers(), false);
    for (int label = best_; label >= 0; label = all_[label].from)
      for (int i = all_[label].run.first; i < all_[label].run.last; ++i) choice.layers[i] = true;
    return choice;
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
  RecomputeChoice choice{.layers = first(enough), .exact = false};
  for (std::size_t i = 0; i < enough; ++i) choice.seconds += forward[order[i]];
  return choice;
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
  if (forward_.size() > kLongSequence) {
    exact_ = false;
    return greedy_choice(sizes, freed, forward, room);
  }
  const FreeingBound bound(freed, forward);
  Labelling quick(sizes, forward, bound, room, kFewLabels, kInfeasible);
  auto first_found = quick.best();
  if (quick.exact()) return first_found;
  const std::size_t max = kLabelsTimesLayersSquared / (forward.size() * forward.size());
  Labelling whole(sizes, forward, bound, room, std::clamp(max, kFewLabels, kMaxLabels),
                  first_found ? first_found->seconds : kInfeasible);
  auto choice = whole.best();
  if (!choice) choice = std::move(first_found);
  if (choice) choice->exact = whole.exact();
  exact_ = exact_ && whole.exact();
  return choice;
}

}  // namespace penstock::partition
