#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/encoded_text.h"
#include "base/error.h"
#include "base/quantities.h"
#include "configs/config_folder.h"
#include "configs/named_keys.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/report/best_plan_view.h"
#include "partition/planner/report/report.h"
#include "runtime/planning/advice.h"
#include "runtime/planning/plan.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/plan_modes.h"
#include "tools/reports/plan_facts.h"
#include "tools/reports/plan_text.h"

// `penstock plan RECIPE --cluster CLUSTER` takes these steps:
// 1. A model's name in place of a recipe becomes model.base=NAME, and --data becomes data.train.
// 2. The recipe is planned on the cluster, within --time-limit. If it gives no size of a step, one
//    is assumed and said.
// 3. Single changes of recipe and cluster are planned too, for advice, as long as there is time.
// 4. Plan and report are written, if asked for, and the plan is printed with the command that
//    trains it.
//
// The planner chooses the division of a step unless the recipe names its keys, and the size unless
// there is a recipe's file or a key for it. So it matters which keys are named, not only which
// values they have (GivenStep).

namespace penstock::tools {
namespace {

// Plans for advice may take so many seconds, in addition to the search.
constexpr double kAdviceSeconds = 5;

/// Returns the words with a model's name replaced by model.base=NAME.
std::vector<std::string> as_recipe(std::vector<std::string> words) {
  const auto models = configs::model_names();
  for (std::string& word : words)
    if (std::ranges::count(models, word) > 0 && !std::filesystem::exists(word))
      word = "model.base=" + word;
  return words;
}

/// Says if the words give a step's size, and its division into micro-batches.
struct GivenStep {
  bool division = false;  // the division is given
  bool size = false;      // the size is given; a file gives one, if only by default
};

/// Looks at names alone: a key that a recipe sets to its default is given. A recipe's file gives a
/// size even if it names none, that of the defaults.
GivenStep given_step(const std::vector<std::string>& words) {
  std::string file;
  std::vector<std::string> overrides;
  for (const std::string& word : words)
    if (word.find('=') == std::string::npos)
      file = word;
    else
      overrides.push_back(word);
  const auto named = configs::named_keys(file, overrides);
  const bool division =
      named.contains("data.micro_batch_seconds") || named.contains("data.micro_batches");
  return {division, division || !file.empty() || named.contains("data.batch_seconds")};
}

/// Returns the override that sets the assumed size of the step.
std::string assumed_key(const runtime::ClusterPlan& planned) {
  return fmt::format("data.batch_seconds={:g}", planned.assumed_step_s);
}

/// Says which size of the step was assumed, why, and how to ask for it. Empty if a size was given.
std::string assumption(const runtime::ClusterPlan& planned) {
  if (planned.assumed_step_s <= 0) return "";
  const double one = runtime::step_seconds_per_device();
  std::string why = fmt::format("{:g} s for each device", one);
  if (planned.assumed_step_s < one * planned.problem.cluster.size())
    why = planned.assumed_step_s > one
              ? fmt::format("half of the data's {}", seconds_text(planned.epoch_audio_s))
              : fmt::format("one device's, as the data have only {}",
                            seconds_text(planned.epoch_audio_s));
  return fmt::format("{:g} s of audio, as no size was given: {}. For this one write {}",
                     planned.assumed_step_s, why, assumed_key(planned));
}

/// Adds the time of a step in which all ranks agree before they update, and that of one with
/// pipeline.post_validation.
void add_barriers(const runtime::ClusterPlan& planned, const partition::CandidateResult& of,
                  nlohmann::ordered_json& json) {
  if (!of.other_barrier_s) return;
  const double own = of.estimate->step_seconds;
  const bool late = planned.problem.constraints.barrier == partition::Barrier::none;
  json["agreed_step_ms"] = 1e3 * (late ? *of.other_barrier_s : own);
  json["post_validated_step_ms"] = 1e3 * (late ? own : *of.other_barrier_s);
}

/// Returns an entry for each chunk, with its layers and its stage's devices and memory.
nlohmann::ordered_json stages_of(const runtime::ClusterPlan& planned) {
  const partition::Candidate& candidate = planned.best_plan.candidate();
  auto stages = nlohmann::ordered_json::array();
  for (const partition::ChunkPlan& chunk : planned.plan.chunks) {
    auto recomputed = nlohmann::ordered_json::array();
    for (int layer = chunk.first; layer < chunk.last(); ++layer)
      if (!candidate.recomputed.empty() && candidate.recomputed[layer]) recomputed.push_back(layer);
    stages.push_back({{"stage", chunk.stage},
                      {"first_layer", chunk.first},
                      {"last_layer", chunk.last() - 1},
                      {"devices", candidate.devices[chunk.stage]},
                      {"bytes", chunk.predicted.bytes.total()},  // sum over the stage's chunks
                      {"host_bytes", chunk.predicted.bytes.host},
                      {"recompute", recomputed},
                      {"idle", planned.best_plan.estimate().idle(chunk.stage)}});
  }
  return stages;
}

/// Returns all compared candidates, the plan first. "step_ms" is there only for those that were
/// estimated. Others have a bound, or the closed form of a cut that does not fit.
nlohmann::ordered_json candidates_json(const runtime::ClusterPlan& planned) {
  auto results = nlohmann::ordered_json::array();
  for (const partition::CandidateResult& other : planned.best_plan.results) {
    results.push_back({{"stages", other.candidate.stages},
                       {"replicas", other.candidate.replicas},
                       {"schedule", other.candidate.schedule},
                       {"micro_batches", other.candidate.batch.micro_batches},
                       {"micro_batch_seconds", other.candidate.batch.seconds},
                       {"recomputed_layers", std::ranges::count(other.candidate.recomputed, true)},
                       {"resident", other.candidate.resident},
                       {"shard_optimizer", other.candidate.shards_optimizer},
                       {"why", other.why}});
    if (other.estimate)
      results.back()["step_ms"] = 1e3 * other.estimate->step_seconds;
    else if (other.closed_form > 0)  // a bound, or the time of a cut that does not fit
      results.back()[other.is_bound ? "at_least_ms" : "closed_form_ms"] = 1e3 * other.closed_form;
    add_barriers(planned, other, results.back());
  }
  return results;
}

/// Time and price of training on all the data once; 0 if a step has no audio.
struct Epoch {
  double seconds = 0, price = 0;  // 0: unknown
};

/// Extrapolates from the estimated steps to all audio of data.train.
Epoch epoch_of(const runtime::ClusterPlan& planned) {
  const double speed = planned.best_plan.estimate().speed();
  if (speed <= 0) return {};
  const double seconds = planned.epoch_audio_s / speed;
  const double hourly =
      planned.problem.cluster.price_per_hour(planned.best_plan.candidate().devices);
  return {seconds, hourly * seconds / 3600};
}

void add_epoch(const runtime::ClusterPlan& planned, partition::PlanView& view) {
  const Epoch epoch = epoch_of(planned);
  if (epoch.seconds <= 0) return;
  std::string text = fmt::format("{} for {} of audio", seconds_text(epoch.seconds),
                                 seconds_text(planned.epoch_audio_s));
  if (epoch.price > 0)
    text += fmt::format(
        "; it costs {}, at {} an hour for {}", number_text(epoch.price),
        number_text(planned.problem.cluster.price_per_hour(planned.best_plan.candidate().devices)),
        counted(planned.best_plan.candidate().slots(), "device"));
  view.facts.emplace_back("an epoch", text);
}

nlohmann::ordered_json to_json(const std::vector<runtime::Advice>& given) {
  auto list = nlohmann::ordered_json::array();
  for (const runtime::Advice& advice : given)
    list.push_back({{"change", advice.change}, {"speed", advice.speed}});
  return list;
}

/// Adds the range of computed costs as "step_range_ms", and plans that might be better as
/// "sensitivity".
void add_uncertainty(const runtime::ClusterPlan& planned, nlohmann::ordered_json& json) {
  if (!planned.believed) return;
  const runtime::BelievedStep& believed = *planned.believed;
  json["step_range_ms"] = {1e3 * believed.fastest_s, 1e3 * believed.slowest_s};
  auto others = nlohmann::ordered_json::array();
  for (const partition::OtherBest& other : believed.sensitivity.others)
    others.push_back({{"where", other.assumption},
                      {"better", partition::describe(other.candidate)},
                      {"gain", other.gain}});
  json["sensitivity"] = {{"compared", believed.sensitivity.compared},
                         {"assumptions", believed.sensitivity.assumptions.size()},
                         {"others", others}};
}

/// Formats the best plan. "bottleneck_ms" is the busiest stage's computing time for one micro-batch
/// of the busiest replica.
nlohmann::ordered_json to_json(const runtime::ClusterPlan& planned, bool time_limit_reached) {
  const partition::BestPlan& best_plan = planned.best_plan;
  const partition::Candidate& candidate = best_plan.candidate();
  const int runs = (candidate.batch.micro_batches + candidate.replicas - 1) / candidate.replicas;
  nlohmann::ordered_json json{
      {"model", planned.plan.model},
      {"micro_batches", candidate.batch.micro_batches},
      {"micro_batch_seconds", candidate.batch.seconds},
      {"lanes", planned.plan.lanes},
      {"replicas", candidate.replicas},
      {"bottleneck_ms", 1e3 * std::ranges::max(best_plan.estimate().busy) / runs},
      {"step_ms", 1e3 * best_plan.estimate().step_seconds},
      {"audio_seconds", best_plan.estimate().audio_seconds},
      {"speed", best_plan.estimate().speed()},
      {"lower_bound_ms", 1e3 * best_plan.lower_bound},
      {"gap", best_plan.gap()},
      {"time_limit_reached", time_limit_reached},
      {"stages", stages_of(planned)},
      {"schedule", candidate.schedule},
      {"order", candidate.batch.order},
      {"recompute", planned.recipe.pipeline.recompute},
      {"recompute_exact", candidate.recompute_exact},
      {"resident", candidate.resident},
      {"shard_optimizer", candidate.shards_optimizer},
      {"binds", best_plan.bottleneck},
      {"post_validation", planned.problem.constraints.barrier == partition::Barrier::none},
      {"alternatives", candidates_json(planned)}};
  if (planned.assumed_step_s > 0) json["assumed_batch_seconds"] = planned.assumed_step_s;
  const Epoch epoch = epoch_of(planned);
  if (epoch.seconds > 0) json["epoch_s"] = epoch.seconds;
  if (epoch.price > 0) json["epoch_price"] = epoch.price;
  if (!planned.problem.model.not_counted.empty())
    json["not_counted"] = planned.problem.model.not_counted;
  add_barriers(planned, best_plan.results.front(), json);
  add_uncertainty(planned, json);
  return json;
}

/// Formats the number of ranks on each node: "--host box0:3,box1:4 ". Nodes have the cluster's
/// order, which is that of the ranks. Empty for a single node.
std::string hosts(const runtime::ClusterPlan& planned) {
  const partition::Cluster& cluster = planned.problem.cluster;
  std::vector<int> ranks(cluster.nodes.size());
  for (const auto& stage : planned.best_plan.candidate().devices)
    for (const int device : stage) ++ranks[cluster.devices[device].node];
  std::vector<std::string> used;
  for (std::size_t node = 0; node < ranks.size(); ++node)
    if (ranks[node] > 0) used.push_back(fmt::format("{}:{}", cluster.nodes[node], ranks[node]));
  return used.size() < 2 ? "" : fmt::format("--host {} ", fmt::join(used, ","));
}

/// Refuses --micro-batches if the recipe fixes the division of a step itself, since one of the two
/// would be ignored.
void check_micro_batches(const runtime::ClusterConstraints& constraints) {
  if (constraints.micro_batches == 0 || constraints.free_batch) return;
  throw ConfigError(
      "--micro-batches is for a recipe that sets neither data.micro_batch_seconds nor "
      "data.micro_batches. This recipe sets one of them: change it, or leave --micro-batches "
      "out");
}

runtime::ClusterConstraints make_constraints(const ClusterArguments& arguments,
                                             const std::vector<std::string>& words,
                                             const TimeLimit& limit) {
  const SequenceArguments& layout = arguments.layout;
  const GivenStep step = given_step(words);
  runtime::ClusterConstraints constraints{.stages = layout.stages,
                                          .replicas = layout.replicas,
                                          .micro_batches = layout.micro_batches,
                                          .schedule = arguments.schedule,
                                          .free_batch = !step.division,
                                          .assumes_step = !step.size,
                                          .seed = layout.seed,
                                          .believes = true,
                                          .time = &limit};
  if (!arguments.costs.empty()) constraints.costs = partition::read_device_profile(arguments.costs);
  check_micro_batches(constraints);
  return constraints;
}

/// Returns the command that trains the plan. The plan itself holds what it chose of [data].
std::string how_to_train(const ClusterArguments& arguments, const runtime::ClusterPlan& planned,
                         std::vector<std::string> words) {
  if (planned.assumed_step_s > 0) words.push_back(assumed_key(planned));
  words.push_back("pipeline.plan=" + arguments.output);
  std::ranges::transform(words, words.begin(), shell_word);
  return fmt::format("mpirun -np {} {}penstock train {}", planned.best_plan.candidate().slots(),
                     hosts(planned), fmt::join(words, " "));
}

/// A recipe, its cluster, and constraints on its plan.
struct Asked {
  RecipeArguments recipe;
  configs::Config config;
  partition::Cluster cluster;
  runtime::ClusterConstraints constraints;
};

/// A plan, and the gain of single changes.
struct Advised {
  runtime::ClusterPlan plan;
  std::vector<runtime::Advice> advice;
};

/// Plans, and then plans single changes of the recipe for advice. If the first plan assumed a step,
/// later ones get that step as a key of the recipe.
Advised advised_plan(Asked asked) {
  const auto begin = std::chrono::steady_clock::now();
  Advised advised{runtime::plan_for_cluster(asked.config, asked.cluster, asked.constraints), {}};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (advised.plan.assumed_step_s > 0) {
    asked.recipe.words.push_back(assumed_key(advised.plan));
    asked.config = asked.recipe.load();
    asked.constraints.assumes_step = false;
  }
  asked.constraints.resumed = advised.plan.resumed;
  advised.advice =
      runtime::advise({asked.config, asked.cluster, advised.plan, asked.constraints.free_batch},
                      runtime::plan_again(asked.constraints), {kAdviceSeconds, took.count()});
  return advised;
}

}  // namespace

int run_plan_cluster(const ClusterArguments& arguments, bool json) {
  RecipeArguments recipe{as_recipe(arguments.recipe.words)};
  if (!arguments.data.empty()) recipe.words.push_back(fmt::format("data.train={}", arguments.data));
  const SequenceArguments& layout = arguments.layout;
  const configs::Config config = recipe.load();
  check_outputs({{"--output", arguments.output}, {"--report", layout.report}},
                recipe.files(config, {{"--cluster", layout.cluster},
                                      {"--data", arguments.data},
                                      {"--costs", arguments.costs}}));
  const TimeLimit limit(layout.time_limit);
  const auto [planned, given] =
      advised_plan({recipe, config, partition::read_cluster(layout.cluster),
                    make_constraints(arguments, recipe.words, limit)});
  if (!arguments.output.empty()) partition::write_plan(arguments.output, planned.plan);
  partition::PlanView view = partition::view_of(planned.problem, planned.best_plan, planned.plan);
  if (planned.assumed_step_s > 0) view.facts.emplace_back("assumed step", assumption(planned));
  add_uncertainty(planned, view);
  const bool ended = planned.search_ended;
  if (ended) view.facts.emplace_back("search", words_of(limit));
  add_epoch(planned, view);
  const PlannedCheckpoint checkpoint =
      checkpoint_of(planned.recipe, planned.plan, arguments.disk_gb_per_s);
  view.facts.emplace_back("a checkpoint", text_of(checkpoint, arguments.disk_gb_per_s));
  for (const runtime::Advice& advice : given)
    view.advice.push_back(sentence_of(advice, view.speed));
  if (!arguments.output.empty()) view.command = how_to_train(arguments, planned, recipe.words);
  if (!layout.report.empty()) partition::write_report(layout.report, view);
  if (!json) {
    print_plan(view, std::cout, {output_columns(), wants_colour()});
    return exit_done;
  }
  nlohmann::ordered_json object = to_json(planned, ended);
  object["advice"] = to_json(given);
  object["checkpoint_bytes"] = static_cast<std::uint64_t>(checkpoint.bytes);
  object["checkpoint_s"] = checkpoint.seconds;
  object["copy_bytes"] = static_cast<std::uint64_t>(checkpoint.copy);
  std::cout << json_line(object);
  return exit_done;
}

}  // namespace penstock::tools
