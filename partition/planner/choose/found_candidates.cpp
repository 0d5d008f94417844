#include "partition/planner/choose/found_candidates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/parallel_for.h"
#include "partition/planner/choose/find_choice.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMax = 4;  // found schedules

bool has_same_chunks(const Candidate& one, const Candidate& other) {
  return one.choice.devices == other.choice.devices && one.choice.begin == other.choice.begin &&
         ranks_of_chunks(one.choice) == ranks_of_chunks(other.choice) &&
         one.choice.batch.micro_batches == other.choice.batch.micro_batches;
}

/// Replaces the alternative's schedule by a found one. If none fits, `estimate` is left unset.
void find(const PlanningProblem& problem, Workloads& workloads, Candidate& candidate) {
  candidate.estimate.reset();
  const auto choice = find_choice(problem, workloads, candidate.choice);
  if (!choice) return;
  candidate.choice = *choice;
  candidate.estimate = estimate_choice(
      problem, workloads.of(choice->batch, choice->replicas, choice->selective), *choice);
}

}  // namespace

std::vector<Candidate> found_candidates(const PlanningProblem& problem, Workloads& workloads,
                                        const std::vector<Candidate>& candidates) {
  std::vector<Candidate> found;
  std::vector<const Candidate*> waiting;
  for (const Candidate& candidate : candidates)
    if (candidate.estimate && (candidate.choice.stages > 1 || problem.finds_only))
      waiting.push_back(&candidate);
  while (!waiting.empty() && found.size() < kMax) {
    // With finds_only, one at a time until one is found, since time does not end this search.
    const bool needs_one = problem.finds_only && found.empty();
    const std::size_t room = needs_one ? 1 : kMax - found.size();
    if (is_over(problem.time) && !needs_one) break;
    std::vector<Candidate> round;
    std::vector<const Candidate*> later;  // also those alike to one of the round, which may fail
    for (const Candidate* next : waiting) {
      const auto alike = [&](const Candidate& other) { return has_same_chunks(other, *next); };
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
                         [](const Candidate& one) { return one.estimate.has_value(); });
    waiting = std::move(later);
  }
  return found;
}

}  // namespace penstock::partition
