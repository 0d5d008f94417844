#include "partition/planner/placement/bound/run_count.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kBelow = 1 - 1e-9;        // absorbs rounding before a value is rounded up
constexpr double kCloseEnough = 1 + 1e-4;  // precision of least()
constexpr std::size_t kFresh = 0;          // state in which a run begins
constexpr int kTooMany = std::numeric_limits<int>::max() / 2;  // stages
constexpr int kGoesOn = 4;  // weight of a run that goes on, against one that ends

}  // namespace

RunCount::RunCount(const SequenceLoad& sequence, RunTableRequest request, int max)
    : sequence_(sequence),
      request_(std::move(request)),
      max_runs_(max),
      min_per_work_(std::numeric_limits<double>::infinity()) {
  for (const StageClass& stage_class : request_.classes)
    min_per_work_ = std::min(min_per_work_, stage_class.per_work);
  for (const RunKind& run : request_.runs) {
    within_.push_back(states_);
    states_ += run.capacity - 1;
  }
}

double RunCount::effort(double limit) const {
  double ends = 0;
  for (const StageClass& stage_class : request_.classes)
    ends += sequence_.ranges_within(limit / stage_class.per_work) *
            request_.runs[stage_class.run].capacity;
  return ends * (request_.limited + 1);
}

/// Calls visit(last, seconds) for each end of a stage, with its load without messages.
/// Micro-batches in flight are bounded from below by the stages that the work after it needs. Work
/// and least bytes grow with `last`, so the first that is too large ends the loop.
template <class Visit>
void RunCount::for_ends(const StageClass& stage_class, int first, Visit visit) const {
  for (int last = first + 1; last <= layers(); ++last) {
    const double work = stage_class.per_work * sequence_.work(first, last);
    if (work > limit_) return;
    const double min = sequence_.work(last, layers()) * min_per_work_;
    const double behind = limit_ > 0 ? std::ceil(min / limit_ * kBelow) : 0;
    const int flying = static_cast<int>(std::min(1.0 * request_.micro_batches, 1 + behind));
    if (sequence_.bytes_at_least(first, last, 1) > stage_class.memory * kRounding) return;
    if (sequence_.bytes(first, last, flying) > stage_class.memory * kRounding) continue;
    visit(last, work + stage_class.reduction.seconds(sequence_.parameters(first, last)));
  }
}

/// Calls visit(state, way) for each stage of the class that begins at `first`, in each state from
/// which it may begin.
template <class Visit>
void RunCount::for_ways(const StageClass& stage_class, int first, Visit visit) const {
  const RunKind& run = request_.runs[stage_class.run];
  const int inner = run.capacity - 1;
  const double enter = run.within.seconds(sequence_.crossing(first));
  const double enter_run = first == 0 ? 0 : run.between.seconds(sequence_.crossing(first));
  for_ends(stage_class, first, [&](int last, double seconds) {
    const bool final = last == layers();
    const double ends_run = seconds + (final ? 0 : run.between.seconds(sequence_.crossing(last)));
    if (ends_run + enter_run <= limit_) visit(kFresh, Way{&stage_class, last, kFresh});
    if (stage_class.devices_needed > inner) return;
    if (first > 0 && ends_run + enter <= limit_)
      visit(within(stage_class, stage_class.devices_needed - 1), Way{&stage_class, last, kFresh});
    if (final) return;
    const double goes_on = seconds + run.within.seconds(sequence_.crossing(last));
    if (goes_on + enter_run <= limit_)
      visit(kFresh,
            Way{&stage_class, last, within(stage_class, inner - stage_class.devices_needed)});
    if (first == 0 || goes_on + enter > limit_) return;
    for (int more = stage_class.devices_needed; more < inner; ++more)
      visit(within(stage_class, more),
            Way{&stage_class, last, within(stage_class, more - stage_class.devices_needed)});
  });
}

/// fewest(first, state, left) is the least number of other stages that can do the layers from
/// `first` on together with at most `left` limited stages. A stage counts 1 as `limited` or as
/// `other`.
///   fewest(layers, fresh, left) = 0
///   fewest(first, state, left) = min over stages' ways (last, behind) of
///       other + fewest(last, behind, left - limited)
/// A state with more devices left can do at least what one with fewer can.
void RunCount::put_first(const StageClass& stage_class, int first) {
  const int limited = stage_class.limited ? 1 : 0, other = 1 - limited;
  for_ways(stage_class, first, [&](std::size_t state, const Way& way) {
    const int* behind = min_runs_.data() + at(way.last, way.behind);
    int* min = min_runs_.data() + at(first, state);
    for (int left = limited; left <= request_.limited; ++left)
      min[left] = std::min(min[left], behind[left - limited] + other);
  });
  for (int more = 1; more + 1 < request_.runs[stage_class.run].capacity; ++more)
    for (int left = 0; left <= request_.limited; ++left) {
      int& min = min_runs_[at(first, within(stage_class, more)) + left];
      min = std::min(min, min_runs_[at(first, within(stage_class, more - 1)) + left]);
    }
}

bool RunCount::possible(double limit) {
  limit_ = limit * kRounding;
  min_runs_.assign(at(layers() + 1, 0), kTooMany);
  std::fill_n(min_runs_.begin() + static_cast<std::ptrdiff_t>(at(layers(), kFresh)),
              request_.limited + 1, 0);
  // A way leads to a later boundary, whose values are final.
  for (int first = layers() - 1; first >= 0; --first)
    for (const StageClass& stage_class : request_.classes) put_first(stage_class, first);
  for (int limited = 0; limited <= request_.limited; ++limited)
    if (min_runs_[at(0, kFresh) + limited] + limited <= max_runs_) return true;
  return false;
}

double RunCount::min(double low, double high) {
  if (low >= high || !possible(high)) return high;
  // Invariant: possible(high), and not possible(low) unless `low` is the caller's.
  while (high > low * kCloseEnough && !is_over(request_.time)) {
    const double middle = (low + high) / 2;
    if (possible(middle))
      high = middle;
    else
      low = middle;
  }
  return low;
}

std::vector<StageRun> RunCount::sample(std::mt19937_64& numbers) const {
  int limited = request_.limited;
  while (limited >= 0 && min_runs_[at(0, kFresh) + limited] + limited > max_runs_) --limited;
  int others = max_runs_ - limited;
  std::vector<StageRun> runs;
  std::size_t state = kFresh;
  // Invariant: fewest(first, state, limited) <= others, so some way leads on.
  for (int first = 0; first < layers();) {
    std::vector<Way> ways;
    for (const StageClass& stage_class : request_.classes) {
      const int left = limited - (stage_class.limited ? 1 : 0),
                others_left = others - (stage_class.limited ? 0 : 1);
      if (left < 0 || others_left < 0 || (state != kFresh && !in_run(stage_class, state))) continue;
      // A way whose run ends is listed once, under the state with the fewest devices.
      const std::size_t ending =
          state == kFresh ? kFresh : within(stage_class, stage_class.devices_needed - 1);
      for_ways(stage_class, first, [&](std::size_t from, const Way& way) {
        if (from != (way.behind == kFresh ? ending : state)) return;
        if (min_runs_[at(way.last, way.behind) + left] > others_left) return;
        ways.insert(ways.end(), way.behind == kFresh ? 1 : kGoesOn, way);
      });
    }
    if (ways.empty()) throw std::logic_error("no pipeline keeps within the limit");
    const Way& way = ways[numbers() % ways.size()];
    if (state == kFresh) runs.push_back({way.stage_class->run, 0});
    ++runs.back().stages;
    limited -= way.stage_class->limited ? 1 : 0;
    others -= way.stage_class->limited ? 0 : 1;
    first = way.last;
    state = way.behind;
  }
  return runs;
}

}  // namespace penstock::partition
