#include "partition/planning/recompute_search.h"

#include <algorithm>
#include <limits>
#include <span>

namespace penstock {
namespace {

constexpr std::size_t kMostLabels = 2000;

/// A choice of the layers before a boundary, the last of which is not chosen.
struct Label {
  double seconds = 0;
  RunSizes sizes = {};
  bool any = false;
  int from = -1;      // label that it goes on from, over all boundaries
  LayerRun run = {};  // chosen besides; empty: none
};

bool is_no_worse(const Label& a, const Label& b) {
  return a.seconds <= b.seconds && a.sizes.slot <= b.sizes.slot &&
         a.sizes.replay <= b.sizes.replay && a.sizes.again[0] <= b.sizes.again[0] &&
         a.sizes.again[1] <= b.sizes.again[1] && a.sizes.once[0] <= b.sizes.once[0] &&
         a.sizes.once[1] <= b.sizes.once[1] && a.any == b.any;
}

class Labelling {
 public:
  Labelling(const ChunkSizes& sizes, std::span<const double> forward, double room)
      : sizes_(sizes), forward_(forward), room_(room), at_(forward.size() + 2) {}

  std::optional<RecomputeChoice> best() {
    const int n = sizes_.layers();
    reach(0, {});
    for (int i = 0; i < n; ++i)
      for (const int label : settled(i)) {
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

 private:
  /// Adds a label unless it can't fit or another one is no worse.
  void reach(int boundary, const Label& label) {
    RunSizes fewest = label.sizes;
    fewest.slot -= sizes_.most_freed(std::min(boundary, sizes_.layers()));
    if (std::min(sizes_.change(fewest, true), sizes_.change(fewest, label.any)) > room_) return;
    auto& others = at_[boundary];
    for (const int other : others)
      if (is_no_worse(all_[other], label)) return;
    std::erase_if(others, [&](int other) { return is_no_worse(label, all_[other]); });
    others.push_back(static_cast<int>(all_.size()));
    all_.push_back(label);
    // With nothing chosen behind it, it is a whole choice.
    const RunSizes whole = sizes_.joined(label.sizes, sizes_.without({boundary, sizes_.layers()}));
    if (label.seconds < least_ && sizes_.change(whole, label.any) <= room_) {
      least_ = label.seconds;
      best_ = others.back();
    }
  }

  /// The labels of a boundary, in order; of too many those at even distances.
  std::vector<int> settled(int boundary) {
    std::vector<int> labels = at_[boundary];
    std::erase_if(labels, [&](int label) { return all_[label].seconds >= least_; });
    std::ranges::stable_sort(labels, {}, [&](int label) { return all_[label].seconds; });
    if (labels.size() <= kMostLabels) return labels;
    exact_ = false;
    std::vector<int> kept;
    for (std::size_t i = 0; i < kMostLabels; ++i)
      kept.push_back(labels[i * (labels.size() - 1) / (kMostLabels - 1)]);
    return kept;
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
  double room_;  // bytes more than what choosing nothing takes; below 0: that is too much
  std::vector<Label> all_;
  std::vector<std::vector<int>>
      at_;  // of each boundary; the last: behind a run that ends the chunk
  double least_ = std::numeric_limits<double>::infinity();
  int best_ = -1;
  bool exact_ = true;
};

}  // namespace

const std::optional<RecomputeChoice>& RecomputeSearch::within(int first, int last, int chunk,
                                                              double limit) {
  const auto [at, fresh] = known_.try_emplace({first, last, chunk, limit});
  if (fresh) at->second = search(first, last, chunk, limit);
  return at->second;
}

std::optional<RecomputeChoice> RecomputeSearch::search(int first, int last, int chunk,
                                                       double limit) const {
  const double room = limit - static_cast<double>(bytes_(first, last, chunk).total());
  if (room >= 0) return RecomputeChoice{};
  const ChunkSizes sizes(bytes_.training(first, last, chunk));
  return Labelling(sizes, std::span(forward_).subspan(first, last - first), room).best();
}

}  // namespace penstock
