#include "partition/planner/placement/heuristics/run_count.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kBelow = 1 - 1e-9;  // absorbs rounding before a value is rounded up
constexpr std::size_t kFresh = 0;    // state in which a run begins
constexpr int kTooMany = std::numeric_limits<int>::max() / 2;  // stages
constexpr int kGoesOn = 4;  // weight of a run that goes on, against one that ends

}  // namespace

RunCount::RunCount(const SequenceLoad& sequence, RunRequest request)
    : sequence_(sequence),
      request_(std::move(request)),
      min_per_work_(std::numeric_limits<double>::infinity()) {
  for (const RunKind& run : request_.kinds) {
    min_per_work_ = std::min(min_per_work_, run.per_work);
    within_.push_back(states_);
    states_ += run.capacity - 1;
  }
}

double RunCount::effort(double limit) const {
  double ends = 0;
  for (const RunKind& run : request_.kinds)
    ends += sequence_.ranges_within(limit / run.per_work) * run.capacity;
  return ends * (request_.limited + 1);
}

/// Calls visit(last, seconds) for each end of a stage, with its load without messages.
/// Micro-batches in flight are bounded from below by the stages that the work after it needs. Work
/// and least bytes grow with `last`, so the first that is too large ends the loop.
template <class Visit>
void RunCount::for_ends(const RunKind& run, int first, Visit visit) const {
  for (int last = first + 1; last <= layers(); ++last) {
    const double work = run.per_work * sequence_.work(first, last);
    if (work > limit_) return;
    const double min = sequence_.work(last, layers()) * min_per_work_;
    const double after = limit_ > 0 ? std::ceil(min / limit_ * kBelow) : 0;
    const int flying = static_cast<int>(std::min(1.0 * request_.micro_batches, 1 + after));
    if (sequence_.bytes_at_least(first, last, 1) > run.memory * kRounding) return;
    if (sequence_.bytes(first, last, flying) > run.memory * kRounding) continue;
    visit(last, work);
  }
}

/// Calls visit(state, way) for each stage of the kind that begins at `first`, in each state from
/// which it may begin.
template <class Visit>
void RunCount::for_ways(std::size_t kind, int first, Visit visit) const {
  const RunKind& run = request_.kinds[kind];
  const int inner = run.capacity - 1;
  const double enter = run.within.seconds(sequence_.crossing(first));
  const double enter_run = first == 0 ? 0 : run.between.seconds(sequence_.crossing(first));
  for_ends(run, first, [&](int last, double seconds) {
    const bool final = last == layers();
    const double ends_run = seconds + (final ? 0 : run.between.seconds(sequence_.crossing(last)));
    if (ends_run + enter_run <= limit_) visit(kFresh, Way{kind, last, kFresh});
    if (inner == 0) return;  // a node has one device, so no run goes on
    if (first > 0 && ends_run + enter <= limit_) visit(within(kind, 0), Way{kind, last, kFresh});
    if (final) return;
    const double goes_on = seconds + run.within.seconds(sequence_.crossing(last));
    if (goes_on + enter_run <= limit_) visit(kFresh, Way{kind, last, within(kind, inner - 1)});
    if (first == 0 || goes_on + enter > limit_) return;
    for (int more = 1; more < inner; ++more)
      visit(within(kind, more), Way{kind, last, within(kind, more - 1)});
  });
}

/// fewest(first, state, left) is the least number of other stages that can do the layers from
/// `first` on together with at most `left` limited stages. A stage counts 1 as `limited` or as
/// `other`.
///   fewest(layers, fresh, left) = 0
///   fewest(first, state, left) = min over stages' ways (last, after) of
///       other + fewest(last, after, left - limited)
/// A state with more devices left can do at least what one with fewer can.
void RunCount::put_first(std::size_t kind, int first) {
  const RunKind& run = request_.kinds[kind];
  const int limited = run.limited ? 1 : 0, other = 1 - limited;
  for_ways(kind, first, [&](std::size_t state, const Way& way) {
    const int* after = min_runs_.data() + at(way.last, way.after);
    int* min = min_runs_.data() + at(first, state);
    for (int left = limited; left <= request_.limited; ++left)
      min[left] = std::min(min[left], after[left - limited] + other);
  });
  for (int more = 1; more + 1 < run.capacity; ++more)
    for (int left = 0; left <= request_.limited; ++left) {
      int& min = min_runs_[at(first, within(kind, more)) + left];
      min = std::min(min, min_runs_[at(first, within(kind, more - 1)) + left]);
    }
}

bool RunCount::possible(double limit) {
  limit_ = limit * kRounding;
  min_runs_.assign(at(layers() + 1, 0), kTooMany);
  std::fill_n(min_runs_.begin() + static_cast<std::ptrdiff_t>(at(layers(), kFresh)),
              request_.limited + 1, 0);
  // A way leads to a later boundary, whose values are final.
  for (int first = layers() - 1; first >= 0; --first)
    for (std::size_t kind = 0; kind < request_.kinds.size(); ++kind) put_first(kind, first);
  for (int limited = 0; limited <= request_.limited; ++limited)
    if (min_runs_[at(0, kFresh) + limited] + limited <= request_.stages) return true;
  return false;
}

std::vector<StageRun> RunCount::sample(std::mt19937_64& numbers) const {
  int limited = request_.limited;
  while (limited >= 0 && min_runs_[at(0, kFresh) + limited] + limited > request_.stages) --limited;
  int others = request_.stages - limited;
  std::vector<StageRun> runs;
  std::size_t state = kFresh;
  // Invariant: fewest(first, state, limited) <= others, so some way leads on.
  for (int first = 0; first < layers();) {
    std::vector<Way> ways;
    for (std::size_t kind = 0; kind < request_.kinds.size(); ++kind) {
      const int own = request_.kinds[kind].limited ? 1 : 0;
      const int left = limited - own, others_left = others - (1 - own);
      if (left < 0 || others_left < 0 || (state != kFresh && !in_run(kind, state))) continue;
      // A way whose run ends is listed once, under the state with the fewest devices.
      const std::size_t ending = state == kFresh ? kFresh : within(kind, 0);
      for_ways(kind, first, [&](std::size_t from, const Way& way) {
        if (from != (way.after == kFresh ? ending : state)) return;
        if (min_runs_[at(way.last, way.after) + left] > others_left) return;
        ways.insert(ways.end(), way.after == kFresh ? 1 : kGoesOn, way);
      });
    }
    if (ways.empty()) throw std::logic_error("no pipeline keeps within the limit");
    const Way& way = ways[numbers() % ways.size()];
    if (state == kFresh) runs.push_back({way.kind, 0});
    ++runs.back().stages;
    if (request_.kinds[way.kind].limited)
      --limited;
    else
      --others;
    first = way.last;
    state = way.after;
  }
  return runs;
}

}  // namespace penstock::partition
