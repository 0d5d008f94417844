#include "partition/cut/partitioner.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "partition/cut/infeasible_cut.h"
#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

bool fits(const PartitionProblem& problem, int first, int last, int stage) {
  return !problem.bytes || problem.bytes(first, last, stage) <= problem.memory[stage];
}

/// load() of every range of layers, computed once.
class Loads {
 public:
  explicit Loads(const PartitionProblem& problem)
      : size_(problem.size() + 1), loads_(size_ * size_) {
    for (int first = 0; first < problem.size(); ++first) {
      for (int last = first + 1; last <= problem.size(); ++last) {
        loads_[first * size_ + last] = problem.load(first, last);
      }
    }
  }
  double operator()(int first, int last) const { return loads_[first * size_ + last]; }

 private:
  std::size_t size_;
  std::vector<double> loads_;
};

/// Slowest stage of the best cut of all layers.
double least_bottleneck(const PartitionProblem& problem, const Loads& loads) {
  const int layers = problem.size();
  std::vector<double> best(layers + 1, kNever);  // of layers [0, last) in the stages so far
  best[0] = 0;
  for (int stage = 0; stage < problem.stages; ++stage) {
    std::vector<double> next(layers + 1, kNever);
    for (int last = stage + 1; last <= layers; ++last) {
      for (int first = last - 1; first >= stage; --first) {
        const double slowest = std::max(best[first], loads(first, last));
        if (slowest >= next[last]) continue;
        if (fits(problem, first, last, stage)) next[last] = slowest;
      }
    }
    best = std::move(next);
  }
  return best[layers];
}

/// A cut of the first layers, with the loads of its stages, slowest first.
struct Prefix {
  std::vector<double> loads;
  std::vector<int> begin;
};

Prefix extended(const Prefix& prefix, int first, double load) {
  Prefix longer = prefix;
  longer.begin.push_back(first);
  const auto place = std::ranges::upper_bound(longer.loads, load, std::greater<>());
  longer.loads.insert(place, load);
  return longer;
}

/// Of all cuts that reach `bottleneck`, the one whose loads, slowest first, are least in
/// lexicographic order. Adding the same load to two prefixes keeps their order, so that the best
/// prefix of each length suffices.
Prefix most_even(const PartitionProblem& problem, const Loads& loads, double bottleneck) {
  const int layers = problem.size();
  std::vector<std::optional<Prefix>> best(layers + 1);
  best[0] = Prefix{};
  for (int stage = 0; stage < problem.stages; ++stage) {
    std::vector<std::optional<Prefix>> next(layers + 1);
    for (int last = stage + 1; last <= layers; ++last) {
      for (int first = last - 1; first >= stage; --first) {
        const double load = loads(first, last);
        if (!best[first] || load > bottleneck) continue;
        Prefix longer = extended(*best[first], first, load);
        if (next[last] && longer.loads >= next[last]->loads) continue;
        if (fits(problem, first, last, stage)) next[last] = std::move(longer);
      }
    }
    best = std::move(next);
  }
  return *best[layers];
}

}  // namespace

double PartitionProblem::load(int first, int last) const {
  double seconds = std::accumulate(compute.begin() + first, compute.begin() + last, 0.0);
  if (first > 0) seconds += transfer[first - 1];
  if (last < size()) seconds += transfer[last - 1];
  return seconds;
}

Partition partition(const PartitionProblem& problem) {
  check_counts(problem);
  const Loads loads(problem);
  const double bottleneck = least_bottleneck(problem, loads);
  if (bottleneck == kNever) throw_infeasible_cut(problem);
  Prefix cut = most_even(problem, loads, bottleneck);
  cut.begin.push_back(problem.size());
  return {std::move(cut.begin), bottleneck};
}

}  // namespace penstock::partition
