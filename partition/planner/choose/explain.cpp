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

/// True if a choice that lacks memory would be faster by more than `share`.
bool is_faster_by(double share, const Candidate& lacking, const Candidate& best) {
  return lacking.lacks && lacking.speed_with_memory * seconds_per_audio_second(best) > 1 + share;
}

/// Returns the same choice without a sharded optimizer, if that would be faster but lacks memory;
/// else null.
const Candidate* unsharded_lacking(const Candidate& best,
                                   const std::vector<Candidate>& candidates) {
  if (!best.choice.shards_optimizer) return nullptr;
  for (const Candidate& other : candidates)
    if (is_faster_by(kSameStep, other, best) && !other.choice.shards_optimizer &&
        other.choice.stages == best.choice.stages &&
        other.choice.replicas == best.choice.replicas &&
        other.choice.batch.micro_batches == best.choice.batch.micro_batches &&
        (other.choice.schedule == best.choice.schedule || best.choice.schedule == kFound))
      return &other;
  return nullptr;
}

/// Returns text on the influence of memory on the plan; empty if there is none.
std::string memory_of(const Candidate& best, const std::vector<Candidate>& candidates) {
  std::string text;
  if (const Candidate* whole = unsharded_lacking(best, candidates))
    text = fmt::format("memory, for which replicas share the optimizer (else {}), and ",
                       describe(*whole->lacks));
  if (best.memory_bound) text += "memory, which shapes the cut, and ";
  return text;
}

}  // namespace

double seconds_per_audio_second(const Candidate& candidate) {
  return candidate.estimate ? 1 / candidate.estimate->speed()
                            : std::numeric_limits<double>::infinity();
}

std::string describe(const LackingMemory& lacking) {
  return fmt::format("stage {} lacks {:.3g} GiB", lacking.stage, lacking.bytes / kGib);
}

std::string why_slower(const Candidate& best, const Candidate& other) {
  const double slower = seconds_per_audio_second(other) / seconds_per_audio_second(best) - 1;
  if (slower <= -kSameStep)
    return fmt::format("{:.1f} % faster, but {} is requested", -100 * slower, best.choice.schedule);
  if (slower < kSameStep) return "as fast: the first found is kept";
  double idle = 0;
  for (int k = 0; k < other.choice.stages; ++k)
    idle += other.estimate->idle(k) / other.choice.stages;
  return fmt::format("{:.1f} % slower: stages idle {:.0f} %{}", 100 * slower, 100 * idle,
                     other.memory_bound ? ", memory shapes its cut" : "");
}

bool would_be_faster(const Candidate& lacking, const Candidate& best) {
  return is_faster_by(kClearlyFaster, lacking, best);
}

std::string bottleneck_of(const Candidate& best, const std::vector<Candidate>& candidates) {
  const Candidate* wanted = nullptr;
  for (const Candidate& other : candidates)
    if (would_be_faster(other, best) &&
        (wanted == nullptr || other.speed_with_memory > wanted->speed_with_memory))
      wanted = &other;
  if (wanted != nullptr)
    return fmt::format("memory: {} would be faster, but its {}", describe(wanted->choice),
                       describe(*wanted->lacks));
  const auto& busy = best.estimate->busy;
  const auto slowest = static_cast<int>(std::ranges::max_element(busy) - busy.begin());
  return fmt::format("{}the computation of stage {}, which is busy {:.0f} % of a step",
                     memory_of(best, candidates), slowest,
                     100 * (1 - best.estimate->idle(slowest)));
}

namespace {

/// The alternative that comes closest to fitting.
struct Closest {
  PlanChoice choice;
  LeastFullCut cut;
};

/// Returns the alternative with the least full cut. All layers are recomputed, and the optimizer is
/// sharded, unless the problem fixes these.
std::optional<Closest> closest(const PlanningProblem& problem,
                               const std::vector<Candidate>& candidates) {
  std::optional<Closest> best;
  for (const Candidate& candidate : candidates) {
    if (candidate.choice.devices.empty() || candidate.choice.begin.empty()) continue;
    PlanChoice choice = candidate.choice;
    if (!problem.constraints.recomputed) {
      choice.recomputed.assign(problem.training.sequence->size(), true);
      choice.selective = problem.training.selective_costs != nullptr;
    }
    choice.shards_optimizer |= !problem.constraints.shards_optimizer && choice.replicas > 1;
    LeastFullCut cut =
        min_full_cut(StageMemory(problem, choice), problem.training.sequence->size());
    if (!best || cut.fullness < best->cut.fullness) best = Closest{choice, std::move(cut)};
  }
  return best;
}

/// Returns the plan for a changed problem, without refinement; nothing if none fits.
std::optional<PlanChoice> what_fits(const PlanningProblem& problem) try {
  PlanningProblem quick = problem;
  quick.search.is_quick = true;
  return decide(quick).choice;
} catch (const ConfigError&) {
  return std::nullopt;
}

std::optional<PlanChoice> with_other_stages(PlanningProblem problem) {
  if (problem.constraints.stages == 0 && problem.constraints.replicas == 0) return std::nullopt;
  problem.constraints.stages = problem.constraints.replicas = 0;
  return what_fits(problem);
}

std::optional<PlanChoice> with_smaller_micro_batches(PlanningProblem problem) {
  for (int halving = 0; halving < kLimits.halvings; ++halving) {
    for (BatchChoice& batch : problem.constraints.batches) {
      batch.seconds /= 2;
      batch.micro_batches *= 2;
    }
    if (auto choice = what_fits(problem)) return choice;
  }
  return std::nullopt;
}

std::string layers_of(const PlanningProblem& problem, const LeastFullCut& cut, int chunk) {
  const auto& layers = problem.training.sequence->layers;
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
      describe(best.choice), cut.stage, layers_of(problem, cut, cut.stage), cut.bytes / kGib,
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

void throw_infeasible_plan(const PlanningProblem& problem, const std::vector<Candidate>& candidates,
                           std::size_t untried) {
  if (problem.search.is_quick) throw ConfigError("memory binds: no plan fits");
  const auto best = closest(problem, candidates);
  if (!best)
    throw ConfigError(fmt::format(
        "no plan fits: every schedule that was tried needs more chunks than the model's {}",
        counted(problem.training.sequence->size(), "layer")));
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
  if (assumption.costs) problem.training.costs = assumption.costs;
  if (assumption.selective_costs) problem.training.selective_costs = assumption.selective_costs;
  problem.training.parameter_s = assumption.parameter_s.value_or(problem.training.parameter_s);
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
    if (!other.estimate || best.size() == kLimits.compared) break;
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
  parallel_for(assumptions.size(), problem.search.threads, [&](std::size_t i) {
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
