#include "partition/choose/found_alternatives.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/parallel_for.h"
#include "partition/choose/find_choice.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMost = 4;  // found schedules

bool has_same_chunks(const Alternative& one, const Alternative& other) {
  return one.choice.devices == other.choice.devices && one.choice.begin == other.choice.begin &&
         ranks_of_chunks(one.choice) == ranks_of_chunks(other.choice) &&
         one.choice.batch.micro_batches == other.choice.batch.micro_batches;
}

/// Replaces the alternative's schedule by a found one. If none fits, `estimate` is left unset.
void find(const PlanningProblem& problem, Workloads& workloads, Alternative& alternative) {
  alternative.estimate.reset();
  const auto choice = find_choice(problem, workloads, alternative.choice);
  if (!choice) return;
  alternative.choice = *choice;
  alternative.estimate = estimate_choice(
      problem, workloads.of(choice->batch, choice->replicas, choice->selective), *choice);
}

}  // namespace

std::vector<Alternative> found_alternatives(const PlanningProblem& problem, Workloads& workloads,
                                            const std::vector<Alternative>& alternatives) {
  std::vector<Alternative> found;
  std::vector<const Alternative*> waiting;
  for (const Alternative& alternative : alternatives)
    if (alternative.estimate && (alternative.choice.stages > 1 || problem.finds_only))
      waiting.push_back(&alternative);
  while (!waiting.empty() && found.size() < kMost) {
    // With finds_only, one at a time until one is found, since time does not end this search.
    const bool needs_one = problem.finds_only && found.empty();
    const std::size_t room = needs_one ? 1 : kMost - found.size();
    if (is_over(problem.time) && !needs_one) break;
    std::vector<Alternative> round;
    std::vector<const Alternative*> later;  // also those alike to one of the round, which may fail
    for (const Alternative* next : waiting) {
      const auto alike = [&](const Alternative& other) { return has_same_chunks(other, *next); };
      if (std::ranges::any_of(found, alike)) continue;
      if (round.size() < room && std::ranges::none_of(round, alike))
        round.push_back(*next);
      else
        later.push_back(next);
    }
    parallel_for(round.size(), problem.threads, [&](std::size_t i) {
      if (is_over(problem.time) && !needs_one)
        round[i].estimate.reset();
      else
        find(problem, workloads, round[i]);
    });
    std::ranges::copy_if(std::make_move_iterator(round.begin()),
                         std::make_move_iterator(round.end()), std::back_inserter(found),
                         [](const Alternative& one) { return one.estimate.has_value(); });
    waiting = std::move(later);
  }
  return found;
}

}  // namespace penstock::partition
