#include "partition/planner/placement/bound/run_table.h"

#include <algorithm>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {

namespace {

/// Sets least[i] = min(least[i], of(rest[i])). This is the innermost loop; it has no branch.
template <class Of>
void lower(double* min, const double* rest, int count, Of of) {
  for (int i = 0; i < count; ++i) min[i] = std::min(min[i], of(rest[i]));
}

}  // namespace

RunTable::RunTable(const SequenceLoad& sequence, RunTableRequest request)
    : sequence_(sequence), request_(std::move(request)), min_{kInfeasible}, fastest_(0) {
  request_.limit *= kRounding;
  for (const StageClass& stage_class : request_.classes) {
    fastest_ = std::max(fastest_, 1 / stage_class.per_work);
    if (!stage_class.limited)
      fastest_unlimited_ = std::max(fastest_unlimited_, 1 / stage_class.per_work);
  }
  const std::size_t size = at(request_.limited, layers()) + 1;
  for (Row* row : {&row_, &next_}) {
    row->fresh.resize(size);
    for (const RunKind& run : request_.runs) row->within.emplace_back(size * (run.capacity - 1));
  }
  // Zero stages do zero layers at no cost.
  clear(row_, layers(), layers() + 1);
  for (int left = 0; left <= request_.limited; ++left) row_.fresh[at(left, layers())] = 0;
}

/// Sets layers [begin, end) of a row to infinity, and makes them its valid layers.
void RunTable::clear(Row& row, int begin, int end) const {
  row.begin = begin;
  row.end = end;
  for (int left = 0; left <= request_.limited; ++left) {
    const auto first = static_cast<std::ptrdiff_t>(at(left, begin));
    std::fill_n(row.fresh.begin() + first, end - begin, kInfeasible);
    for (std::size_t run = 0; run < row.within.size(); ++run) {
      const int inner = request_.runs[run].capacity - 1;
      std::fill_n(row.within[run].begin() + first * inner, (end - begin) * inner, kInfeasible);
    }
  }
}

double RunTable::min(int stages) {
  // min_ has the results for all numbers of stages below its size. The next one needs a row with
  // one stage less.
  while (static_cast<int>(min_.size()) <= stages) {
    if (is_over(request_.time)) return 0;
    if (stages_behind_ + 1 < static_cast<int>(min_.size())) {
      extend();
    }
    min_.push_back(pipeline());
  }
  return min_[stages];
}

/// Adds a stage's load to the result for the stages after it; infinite if it exceeds the limit.
double RunTable::join(double load, double rest) const {
  if (load > request_.limit) return kInfeasible;
  return request_.sums ? load + rest : std::max(load, rest);
}

/// Calls visit(last, seconds) for each end of a stage before row_, with its load without messages.
/// Work and least bytes grow with `last`, so the first that is too large ends the loop.
template <class Visit>
void RunTable::for_ends(const StageClass& stage_class, int first, Visit visit) const {
  const int behind = stages_behind_;
  const int flying = std::min(request_.micro_batches, behind + 1);
  const int end = std::min(layers() - behind, row_.end - 1);
  for (int last = std::max(first + 1, row_.begin); last <= end; ++last) {
    const double work = stage_class.per_work * sequence_.work(first, last);
    if (work > request_.limit) return;
    if (sequence_.bytes_at_least(first, last, flying) > stage_class.memory * kRounding) return;
    if (sequence_.bytes(first, last, flying) > stage_class.memory) continue;
    visit(last, work + stage_class.reduction.seconds(sequence_.parameters(first, last)));
  }
}

/// Adds a stage of the class that begins at `first`, before the s stages of row_. n devices of the
/// node are left, and the stage needs d of them:
///   fresh_0(layers) = 0
///   fresh_{s+1}(first) = min over last of
///       join(between + stage + between, fresh_s(last)),
///       join(between + stage + within, within_s(last, capacity - d))
///   within_{s+1}(first, n) = min over last of
///       join(within + stage + between, fresh_s(last)),      for d <= n
///       join(within + stage + within, within_s(last, n - d)), for d < n
/// A limited stage continues from `left` - 1. n devices can do what n - 1 can.
void RunTable::put_first(const StageClass& stage_class, int limited_left, int first) {
  const RunKind& run = request_.runs[stage_class.run];
  const int left = limited_left - (stage_class.limited ? 1 : 0), inner = run.capacity - 1;
  if (left < 0) return;
  const bool final = stages_behind_ == 0;
  const double enter = run.within.seconds(sequence_.crossing(first));
  const double enter_run = run.between.seconds(sequence_.crossing(first));
  double& fresh = next_.fresh[at(limited_left, first)];
  double* within = next_.within[stage_class.run].data() + at(limited_left, first) * inner;
  for_ends(stage_class, first, [&](int last, double seconds) {
    const double ends_run = seconds + (final ? 0 : run.between.seconds(sequence_.crossing(last)));
    const double behind = row_.fresh[at(left, last)];
    if (inner == 0 && behind == kInfeasible) return;
    if (behind < kInfeasible) fresh = std::min(fresh, join(ends_run + enter_run, behind));
    if (behind < kInfeasible && stage_class.devices_needed <= inner) {
      double& alone = within[stage_class.devices_needed - 1];
      alone = std::min(alone, join(ends_run + enter, behind));
    }
    if (final || stage_class.devices_needed > inner) return;
    const double goes_on = seconds + run.within.seconds(sequence_.crossing(last));
    const double* rest = row_.within[stage_class.run].data() + at(left, last) * inner;
    fresh = std::min(fresh, join(goes_on + enter_run, rest[inner - stage_class.devices_needed]));
    const double load = goes_on + enter;
    if (load > request_.limit || rest[inner - 1] == kInfeasible) return;
    const int more = inner - stage_class.devices_needed;
    if (request_.sums)
      lower(within + stage_class.devices_needed, rest, more,
            [load](double behind) { return load + behind; });
    else
      lower(within + stage_class.devices_needed, rest, more,
            [load](double behind) { return std::max(load, behind); });
  });
  for (int more = 1; more < inner; ++more) within[more] = std::min(within[more], within[more - 1]);
}

/// Returns the most work that so many stages can do within the limit.
double RunTable::max_work(int stages) const {
  const int limited = std::min(stages, request_.limited);
  const double others = request_.limited > 0 ? fastest_unlimited_ : fastest_;
  return request_.limit * (limited * fastest_ + (stages - limited) * std::min(others, fastest_)) *
         kRounding;
}

/// Computes the row with one more stage. It skips boundaries before or after which there is more
/// work than the stages there can do.
void RunTable::extend() {
  const int behind = stages_behind_ + 1;
  int begin = 0, end = layers() - stages_behind_;
  const double rest = max_work(behind);
  while (begin < end && sequence_.work(begin, layers()) > rest) ++begin;
  if (request_.stages > 0) {
    const double front = max_work(request_.stages - behind);
    while (end > begin && sequence_.work(0, end - 1) > front) --end;
  }
  clear(next_, begin, end);
  for (int left = 0; left <= request_.limited; ++left)
    for (int first = begin; first < end; ++first)
      for (const StageClass& stage_class : request_.classes) put_first(stage_class, left, first);
  std::swap(row_, next_);
  stages_behind_ = behind;
}

/// Returns the minimum for a whole pipeline: row_ and a first stage, which no message enters.
double RunTable::pipeline() const {
  double min = kInfeasible;
  for (const StageClass& stage_class : request_.classes) {
    const RunKind& run = request_.runs[stage_class.run];
    const int left = request_.limited - (stage_class.limited ? 1 : 0), inner = run.capacity - 1;
    if (left < 0) continue;
    const bool final = stages_behind_ == 0;
    for_ends(stage_class, 0, [&](int last, double seconds) {
      const double ends_run = seconds + (final ? 0 : run.between.seconds(sequence_.crossing(last)));
      min = std::min(min, join(ends_run, row_.fresh[at(left, last)]));
      if (final || stage_class.devices_needed > inner) return;
      const double goes_on = seconds + run.within.seconds(sequence_.crossing(last));
      const double* rest = row_.within[stage_class.run].data() + at(left, last) * inner;
      min = std::min(min, join(goes_on, rest[inner - stage_class.devices_needed]));
    });
  }
  return min;
}

}  // namespace penstock::partition
