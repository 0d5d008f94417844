#include "partition/planner/choose/explain/infeasible_plan.h"

#include <fmt/format.h>

#include <optional>

#include "base/counted.h"
#include "base/error.h"
#include "base/gib.h"
#include "configs/config.h"
#include "partition/planner/choose/stage_memory.h"

namespace penstock::partition {
namespace {

constexpr int kHalvings = 6;  // halvings of micro-batches to try

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
    if (!problem.recomputed) {
      choice.recomputed.assign(problem.sequence->size(), true);
      choice.selective = problem.selective_costs != nullptr;
    }
    choice.shards_optimizer |= !problem.shards_optimizer && choice.replicas > 1;
    LeastFullCut cut = min_full_cut(StageMemory(problem, choice), problem.sequence->size());
    if (!best || cut.fullness < best->cut.fullness) best = Closest{choice, std::move(cut)};
  }
  return best;
}

/// Returns the plan for a changed problem, without refinement; nothing if none fits.
std::optional<PlanChoice> what_fits(const PlanningProblem& problem) try {
  PlanningProblem quick = problem;
  quick.is_quick = true;
  return decide(quick).choice;
} catch (const ConfigError&) {
  return std::nullopt;
}

std::optional<PlanChoice> with_other_stages(PlanningProblem problem) {
  if (problem.stages == 0 && problem.replicas == 0) return std::nullopt;
  problem.stages = problem.replicas = 0;
  return what_fits(problem);
}

std::optional<PlanChoice> with_smaller_micro_batches(PlanningProblem problem) {
  for (int halving = 0; halving < kHalvings; ++halving) {
    for (BatchChoice& batch : problem.batches) {
      batch.seconds /= 2;
      batch.micro_batches *= 2;
    }
    if (auto choice = what_fits(problem)) return choice;
  }
  return std::nullopt;
}

std::string layers_of(const PlanningProblem& problem, const LeastFullCut& cut, int chunk) {
  const auto& layers = problem.sequence->layers;
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
  if (problem.recomputed) return fmt::format("{}. It fits on devices of {:.4g} GiB", needs, needed);
  return fmt::format(
      "{}. With all layers recomputed, it fits on devices of {:.4g} GiB. With some layers "
      "recomputed, less may be enough",
      needs, needed);
}

}  // namespace

void throw_infeasible_plan(const PlanningProblem& problem, const std::vector<Candidate>& candidates,
                           std::size_t untried) {
  if (problem.is_quick) throw ConfigError("memory binds: no plan fits");
  const auto best = closest(problem, candidates);
  if (!best)
    throw ConfigError(fmt::format(
        "no plan fits: every schedule that was tried needs more chunks than the model's {}",
        counted(problem.sequence->size(), "layer")));
  const std::string lacking = needs_of(problem, *best);
  if (untried > 0)
    throw ConfigError(fmt::format(
        "no plan was found in the time limit of {:g} s; {} of stages, replicas and micro-batches "
        "are left that may fit. {}. Give more time with --time-limit, or narrow the search with "
        "--stages and --replicas",
        problem.time->seconds(), counted(untried, "choice"), lacking));
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

}  // namespace penstock::partition
