#include "partition/planner/search/anneal.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::partition {
namespace {

// Simulated annealing over patterns; see anneal.h. A change that raises the cost by d is accepted
// with probability exp(-d / heat), and the heat falls geometrically over the rounds. Each round
// costs one estimate of the makespan, and a second one if it finds a new best pattern.

// The heat at the beginning and at the end, as shares of the first cost. A change that raises the
// cost by the heat is accepted with probability 1/e.
constexpr double kHot = 0.01, kCold = 0.0002;
// Weight of the ranks' mean end in the cost, which otherwise is the makespan. It leads the search
// across plateaus.
constexpr double kMeanEnd = 0.05;

double cost(PatternEstimator& estimator, const Pattern& pattern) {
  const double makespan = estimator.makespan(pattern);
  return makespan + kMeanEnd * estimator.mean_end();
}

template <class Item>
void shift(std::vector<Item>& items, std::size_t from, std::size_t to) {
  const auto begin = items.begin();
  if (from < to) std::rotate(begin + from, begin + from + 1, begin + to + 1);
  if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
}

/// A Change is one random change of a pattern, which can be undone.
class Change {
 public:
  Change(Pattern& pattern, bool keep_order, RandomNumbers& random) : pattern_(pattern) {
    const std::size_t places = pattern.order.size();
    const std::size_t lot = places > 1 && !keep_order ? random.below(10) : 9;
    kind_ = lot < 2 ? Kind::swap : lot < 3 ? Kind::move : Kind::turn;
    rank_ = random.below(pattern.ranks.size());
    const std::size_t size = kind_ == Kind::turn ? pattern.ranks[rank_].size() : places;
    from_ = random.below(size);
    to_ = random.below(size);
    if (kind_ == Kind::turn) {  // mostly to a near place
      const std::size_t far = 1 + random.below(random.below(4) == 0 ? size : 4);
      to_ = random.below(2) == 0 ? from_ - std::min(from_, far) : std::min(from_ + far, size - 1);
    }
    apply(from_, to_);
  }
  void undo() { apply(to_, from_); }

 private:
  enum class Kind { swap, move, turn };

  void apply(std::size_t from, std::size_t to) {
    if (kind_ == Kind::swap) std::swap(pattern_.order[from], pattern_.order[to]);
    if (kind_ == Kind::move) shift(pattern_.order, from, to);
    if (kind_ == Kind::turn) shift(pattern_.ranks[rank_], from, to);
  }

  Pattern& pattern_;
  Kind kind_ = Kind::swap;
  std::size_t rank_ = 0, from_ = 0, to_ = 0;
};

}  // namespace

Pattern anneal(PatternEstimator& estimator, Pattern pattern, const Annealing& annealing,
               RandomNumbers& random) {
  Pattern best = pattern;
  double now = cost(estimator, pattern), min = now;
  const double unit = now;
  if (estimator.makespan(pattern) <= annealing.enough) return best;
  // `now` is the cost of `pattern`, and `min` that of `best`. The heat falls from kHot to kCold
  // times the first cost.
  for (std::int64_t round = 0; round < annealing.rounds; ++round) {
    const double done = static_cast<double>(round) / static_cast<double>(annealing.rounds);
    const double heat = unit * kHot * std::pow(kCold / kHot, done);
    Change change(pattern, annealing.keep_order, random);
    const double changed = cost(estimator, pattern);
    if (changed > now && random.unit() >= std::exp((now - changed) / heat)) {
      change.undo();
      continue;
    }
    now = changed;
    if (now >= min) continue;
    min = now;
    best = pattern;
    if (estimator.makespan(pattern) <= annealing.enough) return best;
  }
  return best;
}

}  // namespace penstock::partition
