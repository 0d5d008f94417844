#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/choose/choose_sequence.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cost/profile.h"
#include "partition/planner/placement/infeasible_placement.h"
#include "partition/planner/report/report.h"
#include "partition/planner/report/sequence_view.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/plan_modes.h"
#include "tools/reports/plan_text.h"

// The profile's layers are placed first without recomputation. If no placement fits into memory,
// stages recompute, and placements are sought again; only if that fails too is the problem
// infeasible. Of the placements that fit, the one with the shortest simulated step is the plan. Its
// step is then simulated under each schedule, and the fastest that fits comes first.
//
// Without a cluster, the profile is placed on as many equal devices as --stages, with the messages'
// times from the profile. The command writes --report alone. Exit code 2: the profile or cluster
// has faults, or no placement fits into memory.

namespace penstock::tools {
namespace {

constexpr int kMax = 1 << 20;  // stages, replicas and micro-batches
constexpr std::size_t kMaxCandidates = 10;

/// Returns the problem, in bytes with a cluster and in seconds without. With four micro-batches for
/// each stage, GPipe's bubble is small (Huang et al. 2019); so that is the number if none is given.
partition::PlacementProblem problem_of(
    const SequenceArguments& arguments, const partition::SequenceProfile& profile,
    partition::SequenceLoad::Recompute recompute = partition::SequenceLoad::Recompute::none) {
  const bool described = !arguments.cluster.empty();
  if (!described && arguments.stages == 0)
    throw ConfigError(
        "a profile does not say on which devices to plan it: give --cluster FILE, or --stages K "
        "for K equal devices");
  const auto crossing = described ? partition::SequenceLoad::Crossing::bytes
                                  : partition::SequenceLoad::Crossing::seconds;
  partition::PlacementProblem problem{
      .sequence = partition::SequenceLoad(profile, crossing, recompute),
      .cluster = described ? partition::read_cluster(arguments.cluster)
                           : partition::equal_devices(arguments.stages),
      .objective = arguments.objective == "step" ? partition::Objective::step
                                                 : partition::Objective::bottleneck};
  const int slots = arguments.stages > 0 ? arguments.stages : problem.cluster.size();
  problem.micro_batches = arguments.micro_batches > 0 ? arguments.micro_batches : 4 * slots;
  return problem;
}

/// Formats the plan. "step_ms", its bound and its gap are of the closed form, which the placement
/// optimises; "simulated_ms" and "simulated_bound_ms" are of the simulated step. Times that were
/// not simulated are null.
nlohmann::ordered_json to_json(const partition::SequencePlan& plan,
                               const std::vector<partition::SequenceStep>& steps,
                               bool time_limit_reached) {
  const partition::PlacementProblem& problem = plan.problem;
  const partition::PlacedSequence& placed = plan.placed;
  auto stages = nlohmann::ordered_json::array();
  const auto costs = partition::stage_costs(problem, placed.devices);
  for (int k = 0; k < placed.grid.stages; ++k) {
    const int first = placed.cut.begin[k], last = placed.cut.begin[k + 1];
    stages.push_back({{"first_layer", first},
                      {"last_layer", last - 1},
                      {"devices", placed.devices[k]},
                      {"bytes", std::llround(plan.bytes(k, steps.front().in_flight[k]))},
                      {"load_ms", 1e3 * costs[k].load(problem.sequence, first, last)}});
  }
  const bool of_steps = problem.objective == partition::Objective::step;
  const double step = partition::closed_form_step(problem, placed);
  const double value = of_steps ? step : placed.cut.slowest;  // equals placed.value up to rounding
  auto schedules = nlohmann::ordered_json::array();
  const auto simulated = [](const partition::SequenceStep& step) {
    return step.seconds > 0 ? nlohmann::ordered_json(1e3 * step.seconds) : nullptr;
  };
  for (const partition::SequenceStep& step : steps)
    schedules.push_back(
        {{"schedule", step.schedule}, {"simulated_ms", simulated(step)}, {"fits", step.fits}});
  return {{"micro_batches", problem.micro_batches},
          {"replicas", placed.grid.replicas},
          {"bottleneck_ms", 1e3 * placed.cut.slowest},
          {"step_ms", 1e3 * step},
          {"lower_bound_ms", 1e3 * std::min(placed.bound, value)},
          {"gap", placed.gap()},
          {"exact", placed.exact()},
          {"time_limit_reached", time_limit_reached},
          {"simulated_ms", simulated(steps.front())},
          {"simulated_bound_ms", 1e3 * plan.min_step},
          {"stages", stages},
          {"schedule", steps.front().schedule},
          {"recompute", problem.sequence.recomputes() ? "stage" : "none"},
          {"binds", partition::bottleneck_of(plan)},
          {"schedules", schedules}};
}

}  // namespace

void add_sequence(CLI::App* command, SequenceArguments& arguments) {
  command->add_option("--profile", arguments.profile,
                      "A sequence of measured layers, instead of a recipe (docs/planning.md)");
  command
      ->add_option("--cluster", arguments.cluster,
                   "The devices: a TOML file or a name in configs/clusters/. With --profile, the "
                   "default is as many equal devices as stages.")
      ->type_name("CLUSTER|FILE");
  takes_whole(command->add_option(
                  "--stages", arguments.stages,
                  "With --cluster or --profile: the number of stages. Default: chosen for a "
                  "cluster; a profile alone needs one"),
              {1, kMax});
  takes_whole(command->add_option(
                  "--replicas", arguments.replicas,
                  "With --cluster or --profile: the replicas of each stage. Default: chosen"),
              {1, kMax});
  takes_whole(
      command->add_option("--micro-batches", arguments.micro_batches,
                          "With --cluster or --profile: the micro-batches of a step, over all "
                          "replicas. Default with a recipe: what it sets, or else chosen. "
                          "Default with --profile: 4 × --stages, or else 4 × the cluster's "
                          "devices."),
      {1, kMax});
  command
      ->add_option("--objective", arguments.objective,
                   "With --profile: minimise the time of a step, or the load of the slowest stage")
      ->check(CLI::IsMember({"step", "bottleneck"}));
  takes_seed(command->add_option(
      "--seed", arguments.seed, "With --cluster or --profile: seed of the search for a placement"));
  add_time_limit(command, arguments.time_limit);
  command->add_option("--report", arguments.report,
                      "With --cluster or --profile: write an HTML page with timeline, memory, "
                      "placement and traffic");
}

// Other grids are weighed only if a table or a report shows them. A long step is simulated only for
// the report, which draws it.
int run_plan_sequence(const SequenceArguments& arguments, bool json) {
  check_outputs({{"--report", arguments.report}},
                {{"--profile", arguments.profile}, {"--cluster", arguments.cluster}});
  const partition::SequenceProfile profile = partition::read_profile(arguments.profile);
  const partition::GridConstraints constraints{.stages = arguments.stages,
                                               .replicas = arguments.replicas};
  const TimeLimit limit(arguments.time_limit);
  const partition::SearchEffort effort{.seed = arguments.seed, .time = &limit};
  partition::PlacementProblem problem = problem_of(arguments, profile);
  partition::check_constraints(problem, constraints);
  auto candidates = partition::sequence_candidates(problem, profile, constraints, effort);
  if (candidates.empty()) {
    problem = problem_of(arguments, profile, partition::SequenceLoad::Recompute::stage);
    candidates = partition::sequence_candidates(problem, profile, constraints, effort);
    if (candidates.empty()) partition::throw_infeasible_placement(problem, constraints, &limit);
  }
  const partition::PlacedSequence& placed =
      partition::choose_sequence(problem, profile, candidates);
  const partition::SequencePlan plan{problem, placed, profile,
                                     partition::min_step(problem, profile, constraints)};
  const std::vector<partition::SequenceStep> steps = partition::sequence_steps(plan);
  const bool ended = limit.ended_a_search();
  if (!json || !arguments.report.empty()) {
    partition::PlanView view = partition::view_of(
        plan, steps, partition::other_grids(plan, steps, constraints, kMaxCandidates),
        arguments.report.empty() ? partition::LongStep::closed_form
                                 : partition::LongStep::simulated);
    if (ended) view.facts.emplace_back("search", words_of(limit));
    if (!arguments.report.empty()) partition::write_report(arguments.report, view);
    if (!json) print_plan(view, std::cout, {output_columns(), wants_colour()});
  }
  if (json) std::cout << json_line(to_json(plan, steps, ended));
  return exit_done;
}

}  // namespace penstock::tools
