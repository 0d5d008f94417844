#include "partition/planner/choose/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// True if a candidate that lacks memory would be faster by more than `share`.
bool is_faster_by(double share, const CandidateResult& lacking, const CandidateResult& best) {
  return lacking.lacks && lacking.speed_with_memory * seconds_per_audio_second(best) > 1 + share;
}

/// Returns the same candidate without a sharded optimizer, if that would be faster but lacks
/// memory; else null.
const CandidateResult* unsharded_lacking(const CandidateResult& best,
                                         const std::vector<CandidateResult>& results) {
  if (!best.candidate.shards_optimizer) return nullptr;
  for (const CandidateResult& other : results)
    if (is_faster_by(kSameStep, other, best) && !other.candidate.shards_optimizer &&
        other.candidate.stages == best.candidate.stages &&
        other.candidate.replicas == best.candidate.replicas &&
        other.candidate.batch.micro_batches == best.candidate.batch.micro_batches &&
        (other.candidate.schedule == best.candidate.schedule || best.candidate.schedule == kFound))
      return &other;
  return nullptr;
}

/// Returns text on the influence of memory on the plan; empty if there is none.
std::string memory_of(const CandidateResult& best, const std::vector<CandidateResult>& results) {
  std::string text;
  if (const CandidateResult* whole = unsharded_lacking(best, results))
    text = fmt::format("memory, for which replicas share the optimizer (else {}), and ",
                       describe(*whole->lacks));
  if (best.memory_bound) text += "memory, which shapes the cut, and ";
  return text;
}

}  // namespace

double seconds_per_audio_second(const CandidateResult& result) {
  return result.estimate ? 1 / result.estimate->speed() : std::numeric_limits<double>::infinity();
}

std::string describe(const LackingMemory& lacking) {
  return fmt::format("stage {} lacks {:.3g} GiB", lacking.stage, lacking.bytes / kGib);
}

std::string why_slower(const CandidateResult& best, const CandidateResult& other) {
  const double slower = seconds_per_audio_second(other) / seconds_per_audio_second(best) - 1;
  if (slower <= -kSameStep)
    return fmt::format("{:.1f} % faster, but {} is requested", -100 * slower,
                       best.candidate.schedule);
  if (slower < kSameStep) return "as fast: the first found is kept";
  double idle = 0;
  for (int k = 0; k < other.candidate.stages; ++k)
    idle += other.estimate->idle(k) / other.candidate.stages;
  return fmt::format("{:.1f} % slower: stages idle {:.0f} %{}", 100 * slower, 100 * idle,
                     other.memory_bound ? ", memory shapes its cut" : "");
}

bool would_be_faster(const CandidateResult& lacking, const CandidateResult& best) {
  return is_faster_by(kClearlyFaster, lacking, best);
}

std::string bottleneck_of(const CandidateResult& best,
                          const std::vector<CandidateResult>& results) {
  const CandidateResult* wanted = nullptr;
  for (const CandidateResult& other : results)
    if (would_be_faster(other, best) &&
        (wanted == nullptr || other.speed_with_memory > wanted->speed_with_memory))
      wanted = &other;
  if (wanted != nullptr)
    return fmt::format("memory: {} would be faster, but its {}", describe(wanted->candidate),
                       describe(*wanted->lacks));
  const auto& busy = best.estimate->busy;
  const auto slowest = static_cast<int>(std::ranges::max_element(busy) - busy.begin());
  return fmt::format("{}the computation of stage {}, which is busy {:.0f} % of a step",
                     memory_of(best, results), slowest, 100 * (1 - best.estimate->idle(slowest)));
}

namespace {

/// The candidate that comes closest to fitting.
struct Closest {
  Candidate candidate;
  LeastFullCut cut;
};

/// Returns the candidate with the least full cut. All layers are recomputed, and the optimizer is
/// sharded, unless the problem fixes these.
std::optional<Closest> closest(const PlanningProblem& problem,
                               const std::vector<CandidateResult>& results) {
  std::optional<Closest> best;
  for (const CandidateResult& result : results) {
    if (result.candidate.devices.empty() || result.candidate.begin.empty()) continue;
    Candidate candidate = result.candidate;
    if (!problem.constraints.recomputed) {
      candidate.recomputed.assign(problem.model.sequence->size(), true);
      candidate.selective = problem.model.selective_costs != nullptr;
    }
    candidate.shards_optimizer |= !problem.constraints.shards_optimizer && candidate.replicas > 1;
    LeastFullCut cut =
        min_full_cut(StageMemory(problem, candidate), problem.model.sequence->size());
    if (!best || cut.fullness < best->cut.fullness) best = Closest{candidate, std::move(cut)};
  }
  return best;
}

/// Returns the plan for a changed problem, without refinement; nothing if none fits.
std::optional<Candidate> what_fits(const PlanningProblem& problem) try {
  PlanningProblem quick = problem;
  quick.search.is_quick = true;
  return find_best_plan(quick).candidate();
} catch (const ConfigError&) {
  return std::nullopt;
}

std::optional<Candidate> with_other_stages(PlanningProblem problem) {
  if (problem.constraints.stages == 0 && problem.constraints.replicas == 0) return std::nullopt;
  problem.constraints.stages = problem.constraints.replicas = 0;
  return what_fits(problem);
}

std::optional<Candidate> with_smaller_micro_batches(PlanningProblem problem) {
  for (int halving = 0; halving < kLimits.halvings; ++halving) {
    for (BatchDivision& batch : problem.constraints.batches) {
      batch.seconds /= 2;
      batch.micro_batches *= 2;
    }
    if (auto candidate = what_fits(problem)) return candidate;
  }
  return std::nullopt;
}

std::string layers_of(const PlanningProblem& problem, const LeastFullCut& cut, int chunk) {
  const auto& layers = problem.model.sequence->layers;
  const int first = cut.begin[chunk], last = cut.begin[chunk + 1] - 1;
  if (first == last) return fmt::format("layer {} alone", layers[first]->name());
  return fmt::format("layers {} to {}", layers[first]->name(), layers[last]->name());
}

/// Returns text that names the fullest stage, what it needs, and the memory that would suffice.
std::string needs_of(const PlanningProblem& problem, const Closest& best) {
  const LeastFullCut& cut = best.cut;
  const std::string needs = fmt::format(
      "The closest is {}: its stage {} ({}) needs {:.4g} GiB, but its device may use {:.4g} GiB "
      "({:.3g} % of its memory stays free)",
      describe(best.candidate), cut.stage, layers_of(problem, cut, cut.stage), cut.bytes / kGib,
      cut.bytes / cut.fullness / kGib, 100 * problem.cluster.margin);
  const double needed = cut.bytes / (1 - problem.cluster.margin) / kGib;
  if (problem.constraints.recomputed)
    return fmt::format("{}. It fits on devices of {:.4g} GiB", needs, needed);
  return fmt::format(
      "{}. With all layers recomputed, it fits on devices of {:.4g} GiB. With some layers "
      "recomputed, less may be enough",
      needs, needed);
}

}  // namespace

void throw_infeasible_plan(const PlanningProblem& problem,
                           const std::vector<CandidateResult>& results, std::size_t untried) {
  if (problem.search.is_quick) throw ConfigError("memory binds: no plan fits");
  const auto best = closest(problem, results);
  if (!best)
    throw ConfigError(fmt::format(
        "no plan fits: every schedule that was tried needs more chunks than the model's {}",
        counted(problem.model.sequence->size(), "layer")));
  const std::string lacking = needs_of(problem, *best);
  if (untried > 0)
    throw ConfigError(fmt::format(
        "no plan was found in the time limit of {:g} s; {} of stages, replicas and micro-batches "
        "are left that may fit. {}. Give more time with --time-limit, or narrow the search with "
        "--stages and --replicas",
        problem.search.time->seconds(), counted(untried, "choice"), lacking));
  std::string message = "memory binds: no plan fits. " + lacking;
  if (const auto other = with_other_stages(problem))
    message += fmt::format(". On these devices, {} fits", describe(*other));
  if (const auto smaller = with_smaller_micro_batches(problem))
    message += fmt::format(
        ". With smaller micro-batches, {} fits: data.micro_batch_seconds={:g} "
        "data.micro_batches={}",
        describe(*smaller), smaller->batch.seconds, smaller->batch.micro_batches);
  throw ConfigError(message);
}

namespace {

/// Returns the problem under an assumption.
PlanningProblem with(PlanningProblem problem, const Assumption& assumption) {
  if (assumption.costs) problem.model.costs = assumption.costs;
  if (assumption.selective_costs) problem.model.selective_costs = assumption.selective_costs;
  problem.model.parameter_s = assumption.parameter_s.value_or(problem.model.parameter_s);
  for (std::size_t device = 0; device < assumption.speeds.size(); ++device)
    problem.cluster.devices.at(device).speed = assumption.speeds[device];
  for (auto* links : {&problem.cluster.node_links, &problem.cluster.exact_links})
    for (LinkRates& link : *links) {
      link.latency *= assumption.message_factor;
      link.bandwidth /= assumption.message_factor;
    }
  return problem;
}

/// Returns the best few simulated candidates, the best plan first. Of each combination of grid,
/// schedule and number of micro-batches, only the best is taken.
std::vector<const Candidate*> best_of(const BestPlan& best_plan) {
  std::vector<const Candidate*> best;
  for (const CandidateResult& other : best_plan.results) {
    if (!other.estimate || best.size() == kLimits.compared) break;
    const bool known = std::ranges::any_of(best, [&](const Candidate* candidate) {
      return candidate->stages == other.candidate.stages &&
             candidate->replicas == other.candidate.replicas &&
             candidate->schedule == other.candidate.schedule &&
             candidate->batch.micro_batches == other.candidate.batch.micro_batches;
    });
    if (!known) best.push_back(&other.candidate);
  }
  return best;
}

CandidateEstimate estimate(const PlanningProblem& problem, Workloads& workloads,
                           const Candidate& candidate) {
  return estimate_candidate(
      problem, workloads.of(candidate.batch, candidate.replicas, candidate.selective), candidate);
}

}  // namespace

double step_under(const PlanningProblem& problem, const BestPlan& best_plan,
                  const Assumption& assumption) {
  const PlanningProblem assumed = with(problem, assumption);
  Workloads workloads(assumed);
  return estimate(assumed, workloads, best_plan.candidate()).step_seconds;
}

Sensitivity sensitivity_of(const PlanningProblem& problem, const BestPlan& best_plan,
                           const std::vector<Assumption>& assumptions) {
  const auto candidates = best_of(best_plan);
  Sensitivity found{.compared = static_cast<int>(candidates.size())};
  const auto messages = std::make_shared<MessageCache>();       // no assumption changes their bytes
  std::vector<std::vector<double>> speeds(assumptions.size());  // [assumption][candidate]
  parallel_for(assumptions.size(), problem.search.threads, [&](std::size_t i) {
    const PlanningProblem assumed = with(problem, assumptions[i]);
    Workloads workloads(assumed, messages);
    for (const Candidate* candidate : candidates)
      speeds[i].push_back(estimate(assumed, workloads, *candidate).speed());
  });
  for (std::size_t i = 0; i < assumptions.size(); ++i) {
    found.assumptions.push_back(assumptions[i].what);
    const auto best = std::ranges::max_element(speeds[i]);
    const double gain = *best / speeds[i].front() - 1;
    if (gain > kSameStep)
      found.others.push_back({assumptions[i].what, *candidates[best - speeds[i].begin()], gain});
  }
  return found;
}

}  // namespace penstock::partition
