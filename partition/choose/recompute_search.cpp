#include "partition/choose/recompute_search.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "partition/choose/freeing_bound.h"
#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

// Of a boundary: in a first round, which gives a bound, and in the exact one, which for long chunks
// has fewer, so that no chunk takes more than a few seconds.
constexpr std::size_t kFewLabels = 30, kMostLabels = 1000, kLabelsTimesLayersSquared = 3'000'000;

// A cut of a longer layer sequence asks for the chunks between tens of thousands of pairs of
// layers.
constexpr std::size_t kLongSequence = 64;

/// A choice of the layers before a boundary, the last of which is not chosen.
struct Label {
  double seconds = 0;
  RunSizes sizes = {};
  bool any = false;
  int from = -1;      // label that it goes on from, over all boundaries
  LayerRun run = {};  // chosen besides; empty: none
};

/// Looks for a choice that takes less than `below`.
class Labelling {
 public:
  Labelling(const ChunkSizes& sizes, std::span<const double> forward, const FreeingBound& bound,
            double room, std::size_t most_labels, double below)
      : sizes_(sizes),
        forward_(forward),
        bound_(bound),
        room_(room),
        most_labels_(most_labels),
        at_(forward.size() + 2),
        least_(below) {}

  std::optional<RecomputeChoice> best() {
    const int n = sizes_.layers();
    reach(0, {});
    // A label at boundary i goes on to i + 1, where layer i is not chosen, and to last + 1, where
    // layers [i, last) are chosen and layer `last` is not. All go forward: those of i are complete
    // when its turn comes.
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
          if (seconds >= least_) break;
          const LayerRun run{i, last};
          // The layer behind a run is not chosen; behind the last layer there is none.
          reach(std::min(last + 1, n + 1),
                {seconds, sizes_.joined(all_[label].sizes, sizes_.of(run)), true, label, run});
        }
      }
    if (best_ < 0) return std::nullopt;
    return choice();
  }
  /// Whether best() has dropped no label for their number.
  bool exact() const { return exact_; }

 private:
  /// Adds a label unless it can't become a choice that fits and takes less than the best known, or
  /// another one is no worse.
  void reach(int boundary, const Label& label) {
    const double more =
        std::min(sizes_.change(label.sizes, true), sizes_.change(label.sizes, label.any)) - room_;
    // `more` bytes are still to be freed by layers behind the boundary, which takes that at least.
    if (label.seconds + bound_.seconds(boundary, more) >= least_) return;
    auto& others = at_[boundary];
    for (const int other : others)
      if (no_worse(all_[other], label)) return;
    std::erase_if(others, [&](int other) { return no_worse(label, all_[other]); });
    others.push_back(static_cast<int>(all_.size()));
    all_.push_back(label);
    // With nothing chosen behind it, it is a whole choice.
    const RunSizes whole = sizes_.joined(label.sizes, sizes_.without({boundary, sizes_.layers()}));
    if (sizes_.change(whole, label.any) <= room_) {
      least_ = label.seconds;
      best_ = others.back();
    }
    if (others.size() > 2 * most_labels_) thin(others);
  }

  bool no_worse(const Label& one, const Label& other) const {
    return one.seconds <= other.seconds && one.any == other.any &&
           sizes_.never_more(one.sizes, other.sizes);
  }

  /// The labels of a boundary, in order.
  std::vector<int> sorted_labels(int boundary) {
    std::vector<int>& labels = at_[boundary];
    thin(labels);
    return labels;
  }

  /// Puts labels in order, without those that came before a better choice; of too many it keeps
  /// those at even distances.
  void thin(std::vector<int>& labels) {
    std::erase_if(labels, [&](int label) { return all_[label].seconds >= least_; });
    std::ranges::stable_sort(labels, {}, [&](int label) { return all_[label].seconds; });
    if (labels.size() <= most_labels_) return;
    exact_ = false;
    std::vector<int> kept;
    for (std::size_t i = 0; i < most_labels_; ++i)
      kept.push_back(labels[i * (labels.size() - 1) / (most_labels_ - 1)]);
    labels = std::move(kept);
  }

  RecomputeChoice choice() const {
    RecomputeChoice choice{.seconds = least_, .exact = exact_};
    if (!all_[best_].any) return choice;
    choice.layers.assign(sizes_.layers(), false);
    for (int label = best_; label >= 0; label = all_[label].from)
      for (int i = all_[label].run.first; i < all_[label].run.last; ++i) choice.layers[i] = true;
    return choice;
  }

  const ChunkSizes& sizes_;
  std::span<const double> forward_;
  const FreeingBound& bound_;
  double room_;  // bytes more than what choosing nothing takes; below 0: that is too much
  std::size_t most_labels_;
  std::vector<Label> all_;
  std::vector<std::vector<int>>
      at_;  // of each boundary; the last: behind a run that ends the chunk
  double least_;
  int best_ = -1;
  bool exact_ = true;
};

/// Bytes that a set of layers makes a chunk take more, or below 0 less, than none.
double change_of(const ChunkSizes& sizes, const ChosenLayers& chosen) {
  RunSizes all;
  bool any = false;
  for (int i = 0; i < sizes.layers(); ++i) {
    LayerRun run{i, i};
    while (run.last < sizes.layers() && chosen[run.last]) ++run.last;
    any = any || run.last > i;
    all = sizes.joined(all, run.last > i ? sizes.of(run) : sizes.without({i, i + 1}));
    i = run.last;  // is not chosen
  }
  return sizes.change(all, any);
}

/// Layers that free most for a second, as few of them as make the chunk fit.
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
  for (int i = 0; i < sizes.layers(); ++i) freed.push_back(sizes.most_freed(i));
  if (forward_.size() > kLongSequence) {
    exact_ = false;
    return greedy_choice(sizes, freed, forward, room);
  }
  const FreeingBound bound(freed, forward);
  Labelling quick(sizes, forward, bound, room, kFewLabels, kNever);
  auto first_found = quick.best();
  if (quick.exact()) return first_found;
  const std::size_t most = kLabelsTimesLayersSquared / (forward.size() * forward.size());
  Labelling whole(sizes, forward, bound, room, std::clamp(most, kFewLabels, kMostLabels),
                  first_found ? first_found->seconds : kNever);
  auto choice = whole.best();
  if (!choice) choice = std::move(first_found);
  if (choice) choice->exact = whole.exact();
  exact_ = exact_ && whole.exact();
  return choice;
}

}  // namespace penstock::partition
