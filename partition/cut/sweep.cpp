#include "partition/cut/sweep.h"

#include <algorithm>

#include "partition/cut/limits.h"

namespace penstock::partition {

Sweep::Sweep(const SequenceLoad& sequence, const std::vector<StageCost>& stages)
    : sequence_(sequence), stages_(stages), speed_left_(stages.size() + 1, 0) {
  for (std::size_t k = stages.size(); k > 0; --k)
    speed_left_[k - 1] = speed_left_[k] + stages[k - 1].speed();
}

/// Puts `stage` behind every prefix of `best`, where its load is at most `limit` and the stages
/// behind it can do the rest.
template <class Add>
void Sweep::extend(int stage, double limit, const std::vector<double>& best,
                   std::vector<double>& next, Add add, std::vector<int>* first_of) const {
  const StageCost& cost = stages_[stage];
  const int layers = sequence_.size(), behind = static_cast<int>(stages_.size()) - stage - 1;
  const double reach = limit * cost.speed() * kRounding;
  const double most = cost.memory * kRounding;
  const double rest = limit * speed_left_[stage + 1] * kRounding;
  for (int first = stage; first < layers - behind; ++first) {
    if (best[first] == kNever) continue;
    int last = behind == 0 ? layers : first + 1;
    for (; last <= layers - behind && sequence_.work(first, last) <= reach; ++last) {
      if (sequence_.bytes_at_least(first, last, cost.in_flight) > most) break;
      if (best[first] >= next[last] || sequence_.work(last, layers) > rest) continue;
      const double load = cost.load(sequence_, first, last);
      const double value = add(best[first], load);
      if (load > limit || value >= next[last] || !cost.fits(sequence_, first, last)) continue;
      next[last] = value;
      if (first_of != nullptr) (*first_of)[last] = first;
    }
  }
}

template <class Add>
std::optional<double> Sweep::run(double limit, Add add,
                                 std::vector<std::vector<int>>* first_of) const {
  std::vector<double> best(sequence_.size() + 1, kNever);
  best[0] = 0;
  for (int stage = 0; stage < static_cast<int>(stages_.size()); ++stage) {
    std::vector<double> next(sequence_.size() + 1, kNever);
    std::vector<int>* firsts = nullptr;
    if (first_of != nullptr) firsts = &first_of->emplace_back(sequence_.size() + 1, -1);
    extend(stage, limit, best, next, add, firsts);
    best = std::move(next);
  }
  if (best.back() == kNever) return std::nullopt;
  return best.back();
}

std::optional<std::vector<int>> Sweep::least_sum(double limit) const {
  std::vector<std::vector<int>> first_of;
  if (!run(limit, std::plus<>(), &first_of)) return std::nullopt;
  std::vector<int> begin{sequence_.size()};
  for (std::size_t stage = stages_.size(); stage > 0; --stage)
    begin.push_back(first_of[stage - 1][begin.back()]);
  std::ranges::reverse(begin);
  return begin;
}

std::optional<double> Sweep::least_slowest(double limit) const {
  return run(
      limit, [](double slowest, double load) { return std::max(slowest, load); }, nullptr);
}

double Sweep::most() const {
  double most = 0;
  for (const StageCost& cost : stages_)
    for (const Pace& pace : cost.paces)
      most = std::max(most, pace.per_work * sequence_.work(0, sequence_.size()) +
                                pace.enter.seconds(sequence_.most_crossing()) +
                                pace.leave.seconds(sequence_.most_crossing()) +
                                cost.reduction.seconds(sequence_.parameters(0, sequence_.size())));
  return most * kRounding;
}

double Sweep::floor_of_slowest() const {
  double fastest = 0;
  for (const StageCost& cost : stages_) fastest = std::max(fastest, cost.speed());
  return std::max(sequence_.work(0, sequence_.size()) / speed_left_[0],
                  sequence_.longest_layer() / fastest) /
         kRounding;
}

double Sweep::floor_of_sum() const {
  double fastest = 0;
  for (const StageCost& cost : stages_) fastest = std::max(fastest, cost.speed());
  return sequence_.work(0, sequence_.size()) / fastest / kRounding;
}

}  // namespace penstock::partition
