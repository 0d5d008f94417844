#include "partition/planner/choose/explain/sensitivity.h"

#include <algorithm>
#include <memory>

#include "base/parallel_for.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kCompared = 4;

/// Returns the problem under an assumption.
PlanningProblem with(PlanningProblem problem, const Assumption& assumption) {
  if (assumption.costs) problem.costs = assumption.costs;
  if (assumption.selective_costs) problem.selective_costs = assumption.selective_costs;
  problem.parameter_s = assumption.parameter_s.value_or(problem.parameter_s);
  for (std::size_t device = 0; device < assumption.speeds.size(); ++device)
    problem.cluster.devices.at(device).speed = assumption.speeds[device];
  for (auto* links : {&problem.cluster.node_links, &problem.cluster.exact_links})
    for (LinkRates& link : *links) {
      link.latency *= assumption.message_factor;
      link.bandwidth /= assumption.message_factor;
    }
  return problem;
}

/// Returns the best few simulated choices, the decision's first. Of each combination of grid,
/// schedule and number of micro-batches, only the best is taken.
std::vector<const PlanChoice*> best_of(const Decision& decision) {
  std::vector<const PlanChoice*> best;
  for (const Candidate& other : decision.candidates) {
    if (!other.estimate || best.size() == kCompared) break;
    const bool known = std::ranges::any_of(best, [&](const PlanChoice* choice) {
      return choice->stages == other.choice.stages && choice->replicas == other.choice.replicas &&
             choice->schedule == other.choice.schedule &&
             choice->batch.micro_batches == other.choice.batch.micro_batches;
    });
    if (!known) best.push_back(&other.choice);
  }
  return best;
}

ChoiceEstimate estimate(const PlanningProblem& problem, Workloads& workloads,
                        const PlanChoice& choice) {
  return estimate_choice(problem, workloads.of(choice.batch, choice.replicas, choice.selective),
                         choice);
}

}  // namespace

double step_under(const PlanningProblem& problem, const Decision& decision,
                  const Assumption& assumption) {
  const PlanningProblem assumed = with(problem, assumption);
  Workloads workloads(assumed);
  return estimate(assumed, workloads, decision.choice).step_seconds;
}

Sensitivity sensitivity_of(const PlanningProblem& problem, const Decision& decision,
                           const std::vector<Assumption>& assumptions) {
  const auto choices = best_of(decision);
  Sensitivity found{.compared = static_cast<int>(choices.size())};
  const auto messages = std::make_shared<MessageCache>();       // no assumption changes their bytes
  std::vector<std::vector<double>> speeds(assumptions.size());  // [assumption][choice]
  parallel_for(assumptions.size(), problem.threads, [&](std::size_t i) {
    const PlanningProblem assumed = with(problem, assumptions[i]);
    Workloads workloads(assumed, messages);
    for (const PlanChoice* choice : choices)
      speeds[i].push_back(estimate(assumed, workloads, *choice).speed());
  });
  for (std::size_t i = 0; i < assumptions.size(); ++i) {
    found.assumptions.push_back(assumptions[i].what);
    const auto best = std::ranges::max_element(speeds[i]);
    const double gain = *best / speeds[i].front() - 1;
    if (gain > kSameStep)
      found.others.push_back({assumptions[i].what, *choices[best - speeds[i].begin()], gain});
  }
  return found;
}

}  // namespace penstock::partition
