#include "partition/planner/search/find_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/search/anneal.h"
#include "partition/planner/search/greedy.h"
#include "partition/planner/search/lower_bound.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

// The search starts from greedy lists and from all named schedules, each in several orders of
// micro-batches. A third of the effort anneals all starts, and the rest anneals the best one.
// Patterns are timed by PatternEstimator and only the final lists by the event simulator. The
// result is compared with a lower bound (lower_bound.h). See docs/design/schedules.md.

std::vector<Schedule> named(const ScheduleProblem& problem) {
  std::vector<Schedule> schedules;
  for (const auto name : schedule_names()) {
    Schedule schedule = make_schedule(name, problem.ranks(), problem.micro_batches());
    if (schedule.chunk_rank == problem.chunk_rank) schedules.push_back(std::move(schedule));
  }
  return schedules;
}

std::vector<int> as_given(const ScheduleProblem& problem) {
  std::vector<int> order(problem.micro_batches());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool fits(const ScheduleProblem& problem, const Schedule& schedule) {
  return problem.fits(problem.peak(schedule, as_given(problem)));
}

/// Returns the initial orders: as given, short first, long first, and short at both ends.
std::vector<std::vector<int>> first_orders(const ScheduleProblem& problem, bool keep_order) {
  const auto seconds = [&](int batch) {
    double sum = 0;
    for (const auto& chunk : problem.times) sum += chunk[batch].total();
    return sum;
  };
  const std::vector<int> given = as_given(problem);
  if (keep_order) return {given};
  std::vector<int> rising = given, ends;
  std::ranges::stable_sort(rising, {}, seconds);
  const std::vector<int> falling(rising.rbegin(), rising.rend());
  // The longest is inserted first and so ends in the middle.
  for (const int batch : falling) {
    ends.insert(ends.size() % 2 == 0 ? ends.begin() : ends.end(), batch);
  }
  return {given, rising, falling, ends};
}

void check_memory(const ScheduleProblem& problem) {
  for (int batch = 0; batch < problem.micro_batches(); ++batch) {
    std::vector<double> held(problem.ranks(), 0);
    for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
      held[problem.chunk_rank[chunk]] += problem.held_by(chunk, batch);
    }
    const double max = std::ranges::max(held);
    if (problem.fits(max)) continue;
    throw ConfigError(
        fmt::format("memory binds: micro-batch {} alone holds {:.4g} on a rank, but only {:.4g} "
                    "is allowed. Allow that much, or make micro-batches smaller",
                    batch, max, problem.memory));
  }
}

/// Returns the cheapest pattern after a short annealing of each start in its best initial order.
Pattern promising(const ScheduleProblem& problem, PatternEstimator& estimator, Annealing annealing,
                  RandomNumbers& random) {
  std::vector<Pattern> starts{greedy(problem, as_given(problem)), one_by_one(problem)};
  for (const Schedule& schedule : named(problem)) starts.push_back(pattern_of(schedule));
  const auto cheaper = [&](const Pattern& a, const Pattern& b) {
    return estimator.makespan(a) < estimator.makespan(b);
  };
  annealing.rounds /= static_cast<std::int64_t>(starts.size());
  std::vector<Pattern> tried;
  for (const Pattern& start : starts) {
    std::vector<Pattern> ordered;
    for (auto& order : first_orders(problem, annealing.keep_order))
      ordered.push_back({start.ranks, std::move(order)});
    const Pattern first = *std::ranges::min_element(ordered, cheaper);
    if (!std::isfinite(estimator.makespan(first))) continue;
    tried.push_back(anneal(estimator, first, annealing, random));
  }
  return *std::ranges::min_element(tried, cheaper);
}

/// Replaces the schedule found by a named one that is shorter. This may happen because the search
/// assumes that every receive is posted one pass ahead.
void keep_named(const ScheduleProblem& problem, FoundSchedule& found) {
  const std::vector<int> given = as_given(problem);
  for (const Schedule& schedule : named(problem)) {
    if (!fits(problem, schedule)) continue;
    Schedule split = with_backward_in_parts(schedule);
    const double makespan = simulate(split, problem.durations(given)).makespan;
    if (makespan >= found.makespan) continue;
    found.schedule = std::move(split);
    found.order = given;
    found.makespan = makespan;
  }
}

}  // namespace

FoundSchedule find_schedule(const ScheduleProblem& problem, const SearchOptions& options) {
  check_memory(problem);
  PatternEstimator estimator(problem);
  RandomNumbers random(options.seed);
  const std::int64_t rounds = options.effort / estimator.turns();
  const double bound = lower_bound(problem), enough = bound * (1 + 1e-12);
  const bool keep = options.keep_order;
  const Pattern start = promising(problem, estimator, {rounds / 3, enough, keep}, random);
  const Pattern best = anneal(estimator, start, {rounds - rounds / 3, enough, keep}, random);

  FoundSchedule found{.schedule = unfold(best, problem.chunk_rank, "found"),
                      .order = best.order,
                      .lower_bound = bound};
  found.makespan = simulate(found.schedule, problem.durations(found.order)).makespan;
  keep_named(problem, found);
  found.lower_bound = std::min(found.lower_bound, found.makespan);  // only rounding makes it larger
  return found;
}

FoundSchedule find_schedule(const std::vector<ScheduleProblem>& ways,
                            const SearchOptions& options) {
  std::vector<double> bounds;
  for (const ScheduleProblem& way : ways) bounds.push_back(lower_bound(way));
  FoundSchedule best;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (i > 0 && bounds[i] >= best.makespan * (1 - 1e-12)) continue;
    FoundSchedule found = find_schedule(ways[i], options);
    found.way = i;
    if (i == 0 || found.makespan < best.makespan) best = std::move(found);
  }
  best.lower_bound = std::min(best.makespan, std::ranges::min(bounds));
  return best;
}

ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule) {
  const double chunks = static_cast<double>(schedule.chunks()) / work.stages;
  return {work.of_rank.forward / chunks, work.of_rank.backward_input / chunks,
          work.of_rank.backward_weight / chunks};
}

namespace {

ScheduleProblem problem_of(const EqualWork& work, const Schedule& schedule) {
  ScheduleProblem problem{.chunk_rank = schedule.chunk_rank};
  // A micro-batch holds 1 on each rank, so its share on a chunk is one over the chunks of a rank.
  const double share = static_cast<double>(work.stages) / problem.chunks();
  problem.times.assign(problem.chunks(),
                       std::vector<ChunkTimes>(work.micro_batches, of_chunk(work, schedule)));
  problem.held.assign(problem.chunks(), std::vector<double>(work.micro_batches, share));
  problem.memory = work.memory > 0 ? work.memory : work.stages;
  return problem;
}

}  // namespace

FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options) {
  std::vector<ScheduleProblem> ways;
  for (const char* layout : {"zb-h1", "zb-v", "interleaved"})
    ways.push_back(problem_of(work, make_schedule(layout, work.stages, work.micro_batches)));
  // Named schedules with other chunk placements are tried too, if they fit in memory.
  for (const auto name : schedule_names()) {
    const Schedule schedule = make_schedule(name, work.stages, work.micro_batches);
    const bool known = std::ranges::any_of(
        ways, [&](const ScheduleProblem& way) { return way.chunk_rank == schedule.chunk_rank; });
    if (known) continue;
    ScheduleProblem problem = problem_of(work, schedule);
    if (fits(problem, schedule)) ways.push_back(std::move(problem));
  }
  return find_schedule(ways, options);
}

}  // namespace penstock::partition
