#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "configs/rules.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/choose/refine_candidate.h"
#include "partition/planner/choose/with_found_schedule.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/corpus/corpora.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/cluster_problem.h"
#include "runtime/planning/plan.h"
#include "runtime/planning/plan_of_candidate.h"
#include "runtime/planning/planned_costs.h"
#include "runtime/planning/recipe_data.h"
#include "runtime/planning/with_candidate.h"

namespace penstock::runtime {
namespace {

/// Builds the layers with this recomputation. Returns null if it is within layers and no layer has
/// anything to recompute.
std::unique_ptr<partition::LayerSequence> sequence_of(configs::Config recipe,
                                                      const char* recompute) {
  recipe.pipeline.recompute = recompute;
  auto sequence = std::make_unique<partition::LayerSequence>(
      partition::build_trained_model(recipe, make_tokenizer(recipe.text)->labels()));
  const bool recomputes_cheap = recompute != partition::kSelective ||
                                partition::recomputes_cheap(*sequence, backend_sizes(recipe));
  return recomputes_cheap ? std::move(sequence) : nullptr;
}

void build_sequences(ClusterPlan& planned, const configs::Config& recipe) {
  const bool free = recipe.pipeline.recompute == configs::PipelineConfig().recompute;
  const bool selective = recipe.pipeline.recompute == partition::kSelective;
  planned.sequence = sequence_of(recipe, configs::PipelineConfig().recompute.c_str());
  if (free || selective) planned.recomputing = sequence_of(recipe, partition::kSelective);
}

std::shared_ptr<const TrainingState> read_state(const configs::Config& recipe) {
  const auto saved = state_to_resume(recipe);
  return saved ? std::make_shared<const TrainingState>(*saved) : nullptr;
}

/// Returns the recipe with the keys that a resumed run must keep.
configs::Config kept(configs::Config recipe, const TrainingState& saved) {
  const configs::Config before = saved_recipe(recipe, saved);
  if (!accepts_division(recipe)) {
    recipe.data.micro_batch_seconds = before.data.micro_batch_seconds;
    recipe.data.micro_batches = before.data.micro_batches;
    recipe.data.batch_seconds = before.data.batch_seconds;
  }
  recipe.trainer.lanes = saved.lanes;
  recipe.trainer.order = choose_order(recipe, &saved);
  return recipe;
}

/// Sets the step of ClusterConstraints::assumes_step, a multiple of one device's step.
void assume_step(configs::Config& recipe, ClusterPlan& planned, const partition::Cluster& cluster,
                 const RecipeData& data) {
  const double one = step_seconds_per_device();
  const double max = std::floor(data.epoch_seconds() / 2 / one);
  planned.assumed_step_s = one * std::clamp<double>(max, 1, std::max(cluster.size(), 1));
  recipe.data.batch_seconds = planned.assumed_step_s;
  const std::string fault = configs::divide_step(recipe, {});
  if (!fault.empty()) throw ConfigError(fault);
}

/// Finds the best plan. Estimates how far it may be believed if the constraints ask for that.
void choose(ClusterPlan& planned, const partition::PlanningProblem& problem,
            const ClusterConstraints& constraints, const RatedKinds& kinds) {
  planned.best_plan = partition::find_best_plan(problem);
  planned.search_ended = constraints.time != nullptr && constraints.time->ended_a_search();
  if (constraints.believes && !constraints.costs && !planned.rated.empty() && !planned.search_ended)
    planned.believed = believed_step(problem, planned.best_plan, computed_costs(planned), kinds);
}

/// Adds so many placements of the plan's stages and replicas, the fastest first.
void rank_placements(ClusterPlan& planned, const partition::PlanningProblem& problem,
                     std::size_t count, const RecipeData& data) {
  if (count == 0) return;
  for (const partition::CandidateResult& one :
       partition::rank_candidates(problem, planned.best_plan.candidate(), count))
    planned.ranked.push_back({one.candidate, *one.estimate, plan_of(planned, one.candidate, data)});
}

}  // namespace

/// Gathers what find_best_plan() needs and converts its candidate to a plan. find_best_plan() calls
/// back for sampled steps and for bytes of a candidate. In the search, bytes are bounds over all
/// epochs (RecipeData::bounds()); the final plan counts the steps of the run itself.
ClusterPlan plan_for_cluster(const configs::Config& given, const partition::Cluster& cluster,
                             const ClusterConstraints& any) {
  configs::Config asked = with_saved_tokenizer(given);
  ClusterPlan planned;
  planned.rated = rated_devices(cluster);
  if (!planned.rated.empty()) asked.trainer.device = backend_of(planned.rated);
  check_features(asked);
  check_training_manifest(asked);
  planned.resumed = any.resumed ? any.resumed : read_state(asked);
  const TrainingState* const saved = planned.resumed.get();
  configs::Config recipe = saved ? kept(asked, *saved) : asked;
  ClusterConstraints constraints = any;
  if (saved) constraints.free_batch = false;
  (void)trained_schedules(recipe, constraints.schedule);  // a wrong name fails before data is read
  build_sequences(planned, recipe);
  const partition::LayerSequence& sequence = *planned.sequence;
  RecipeData data(recipe, sequence);
  if (constraints.assumes_step && !saved) assume_step(recipe, planned, cluster, data);
  planned.problem = problem_of(planned, recipe, data, cluster, constraints);
  set_costs(planned, constraints, recipe, data.labels());
  RunBytes keeping(sequence, recipe, DeviceMessages::nccl);
  RunBytes recomputing(planned.recomputing ? *planned.recomputing : sequence, recipe,
                       DeviceMessages::nccl);
  const auto sample = [&](const partition::BatchDivision& batch, int replicas) {
    return data.sample(batch, replicas, constraints.first_steps);
  };
  RatedKinds kinds;
  if (!planned.rated.empty() && !constraints.costs)
    kinds = set_speeds(planned, sample(planned.problem.constraints.batches.front(), 1).front());
  const partition::LinkRates slowest = slowest_link(cluster);
  partition::PlanningProblem problem = planned.problem;
  problem.model.sample = sample;
  problem.model.bytes = [&](const partition::Candidate& candidate) {
    const configs::Config config =
        with_buckets(with_candidate(recipe, sequence, candidate), slowest);
    RunBytes& bytes = candidate.selective ? recomputing : keeping;
    return bytes.of(config, data.bounds(config),
                    partition::schedule_of(candidate, problem.known_schedules));
  };
  choose(planned, problem, constraints, kinds);
  planned.epoch_audio_s = data.epoch_seconds();
  planned.recipe =
      with_buckets(with_candidate(recipe, sequence, planned.best_plan.candidate()), slowest);
  planned.recipe.pipeline.memory_gib = recipe.pipeline.memory_gib;
  planned.plan = plan_of(planned, planned.best_plan.candidate(), data);
  rank_placements(planned, problem, constraints.placements, data);
  return planned;
}

}  // namespace penstock::runtime
