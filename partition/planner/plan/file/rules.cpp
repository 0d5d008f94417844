#include "configs/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/name_match.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "partition/planner/plan/file/plan_source.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"

// A person may have edited the plan, so nothing is taken for granted. Each check reports at the
// line of the key that has to change. One run names the faults of several checks. Only the
// action lists wait until ranks, counts, schedule and order are sound, as they are read against
// these.

namespace penstock::partition {
namespace {

/// Compares summaries, which hold every key of the model that changes its layers.
void check_model(PlanSource& source, const PlannedModel& model) {
  if (source.plan.model == model.summary) return;
  source.fault(source.model_line,
               fmt::format("the plan is for another model\n    planned: {}\n    asked:   {}\n"
                           "    make a new plan, or set model.* as planned",
                           source.plan.model, model.summary));
}

/// Checks that every replica has a lane, and every lane a micro-batch.
void check_counts(PlanSource& source) {
  const Plan& plan = source.plan;
  if (plan.lanes < plan.replicas()) {
    source.fault(source.lanes_line, fmt::format("lanes = {} leaves some of {} without one",
                                                plan.lanes, counted(plan.replicas(), "replica")));
  }
  if (plan.micro_batches < plan.lanes) {
    source.fault(source.micro_batches_line,
                 fmt::format("micro_batches = {} leaves some of {} lanes without one",
                             plan.micro_batches, plan.lanes));
  }
  if (source.micro_batch_seconds_line > 0 && !(plan.micro_batch_seconds > 0)) {
    source.fault(source.micro_batch_seconds_line,
                 fmt::format("micro_batch_seconds = {}: expected seconds of audio above 0",
                             plan.micro_batch_seconds));
  }
}

/// Checks that ranks is a rectangle which names each rank from 0 on once. It stops at the first row
/// of another length, since the number of ranks is then unknown.
void check_ranks(PlanSource& source) {
  const Plan& plan = source.plan;
  if (plan.world_size() == 0) {
    source.fault(source.ranks_line, "ranks needs a row for each stage, of at least one rank");
    return;
  }
  std::set<int> seen;
  for (const auto& row : plan.ranks) {
    if (row.size() != plan.ranks.front().size()) {
      source.fault(
          source.ranks_line,
          fmt::format("every stage has the same number of replicas: found rows of {} and {}",
                      plan.ranks.front().size(), counted(row.size(), "rank")));
      return;
    }
    for (const int rank : row) {
      if (rank < 0 || rank >= plan.world_size()) {
        source.fault(source.ranks_line,
                     fmt::format("rank {}: those of {} of {} are 0 to {}", rank,
                                 counted(plan.stages(), "stage"),
                                 counted(plan.replicas(), "replica"), plan.world_size() - 1));
      } else if (!seen.insert(rank).second) {
        source.fault(source.ranks_line, fmt::format("rank {} is listed twice", rank));
      }
    }
  }
}

/// Checks that chunks lie on the stages where the schedule runs them.
void check_schedule(PlanSource& source) {
  const Plan& plan = source.plan;
  std::vector<int> stages;
  try {
    if (has_lists(plan.schedule) && std::ssize(plan.actions) != plan.stages())
      return;  // check_actions reports this
    stages = has_lists(plan.schedule) ? lists_of(plan.actions, plan.schedule).chunk_rank
                                      : chunk_ranks(plan.schedule, std::max(1, plan.stages()));
  } catch (const ConfigError& error) {
    if (!has_lists(plan.schedule)) source.fault(source.schedule_line, error.what());
    return;
  }
  if (plan.chunks.size() != stages.size()) {
    source.fault(
        source.schedule_line,
        fmt::format("{} of {} runs {}, found {}", plan.schedule, counted(plan.stages(), "stage"),
                    counted(stages.size(), "chunk"), plan.chunks.size()));
    return;
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (plan.chunks[i].stage == stages[i]) continue;
    source.fault(source.chunk_lines[i].stage,
                 fmt::format("{} runs chunk {} on stage {}, found stage {}", plan.schedule, i,
                             stages[i], plan.chunks[i].stage));
  }
}

/// Checks that the order of a step, if the plan has one, names each micro-batch once.
void check_order(PlanSource& source) {
  const std::string wrong = configs::fault_of_order(source.plan.order, source.plan.micro_batches);
  if (!wrong.empty()) source.fault(source.order_line, "order " + wrong);
}

/// Returns the first fault of the rows, or "". A row may compute only chunks of its own stage.
/// Either all backwards are split, or none.
std::string fault_of_rows(const Plan& plan, const Schedule& lists) {
  const bool splits = splits_backward(lists);
  for (int stage = 0; stage < plan.stages(); ++stage) {
    if (stage >= std::ssize(lists.ranks) || lists.ranks[stage].size() < 2)
      return fmt::format("actions: row {} must be what stage {} computes", stage + 1, stage);
    for (const Action& action : lists.ranks[stage]) {
      if (action.kind == ActionKind::step) continue;
      const bool known = action.chunk < std::ssize(plan.chunks);
      if (!known || plan.chunks[action.chunk].stage != stage)
        return fmt::format("actions: row {} must be what stage {} computes, but {} is {}",
                           stage + 1, stage, describe(action),
                           known ? fmt::format("of stage {}", plan.chunks[action.chunk].stage)
                                 : "of a chunk that the plan lacks");
      if (splits && action.kind == ActionKind::backward)
        return fmt::format(
            "actions: row {} has both gradients at once, expected B (input gradient) and W",
            stage + 1);
    }
  }
  return "";
}

/// Checks the plan's own action lists: they must be sound, and for as many stages and micro-batches
/// as the plan has.
void check_actions(PlanSource& source) {
  const Plan& plan = source.plan;
  if (!has_lists(plan.schedule)) {
    if (source.actions_line > 0)
      source.fault(source.actions_line,
                   fmt::format("actions need schedule = \"found\" or a file's name, *.csv, not {}: "
                               "remove them",
                               plan.schedule));
    return;
  }
  if (plan.actions.empty())
    return source.fault(source.schedule_line,
                        fmt::format("schedule = \"{}\" needs actions, a row for each stage: make a "
                                    "new plan, or name another schedule",
                                    plan.schedule));
  const auto fault = [&](const std::string& what) { source.fault(source.actions_line, what); };
  if (std::ssize(plan.actions) != plan.stages())
    return fault(fmt::format("actions has {}, but the plan has {}",
                             counted(plan.actions.size(), "row"), counted(plan.stages(), "stage")));
  try {
    const Schedule lists = lists_of(plan.actions, plan.schedule);
    if (const std::string wrong = fault_of_rows(plan, lists); !wrong.empty()) return fault(wrong);
    const int wanted = micro_batches_per_replica(plan);
    if (lists.micro_batches != wanted)
      return fault(fmt::format("actions are of {}, but the busiest replica has {}",
                               counted(lists.micro_batches, "micro-batch", "micro-batches"),
                               wanted));
    validate(lists);
  } catch (const ConfigError& error) {
    fault(error.what());
  }
}

/// Returns a message with the nearest name of the model's layers.
std::string unknown_layer(const std::string& layer, const PlannedModel& model) {
  const std::vector<std::string_view> names(model.layers.begin(), model.layers.end());
  const std::string near = nearest(layer, names);
  return fmt::format("the model has no layer {}{}", layer,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

/// Checks that the chunks name every layer once, in the order of the layer sequence. Sets
/// ChunkPlan::first.
void check_cover(PlanSource& source, const PlannedModel& model) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < source.plan.chunks.size(); ++i) {
    ChunkPlan& chunk = source.plan.chunks[i];
    const int line = source.chunk_lines[i].layers;
    chunk.first = static_cast<int>(next);
    if (chunk.layers.empty()) source.fault(line, "a chunk needs at least one layer");
    for (const std::string& layer : chunk.layers) {
      const auto at = std::ranges::find(model.layers, layer);
      if (at == model.layers.end()) {
        source.fault(line, unknown_layer(layer, model));
        return;
      }
      const auto place = static_cast<std::size_t>(at - model.layers.begin());
      if (place < next) {
        source.fault(line, fmt::format("layer {} is listed twice or out of order", layer));
        return;
      }
      if (place > next) {
        source.fault(line, fmt::format("layer {} is missing before {}", model.layers[next], layer));
        return;
      }
      ++next;
    }
  }
  // A plan without chunks has another fault already.
  if (next == model.layers.size() || source.plan.chunks.empty()) return;
  source.fault(source.chunk_lines.back().layers,
               fmt::format("the last chunk must end with layer {}", model.layers.back()));
}

/// Checks that recomputed layers are the chunk's own and each named once. Either all chunks have
/// the list, or none.
void check_recomputed(PlanSource& source) {
  const auto& chunks = source.plan.chunks;
  const auto silent = std::ranges::find_if(
      chunks, [](const ChunkPlan& chunk) { return !chunk.recomputed.has_value(); });
  const auto says = std::ranges::find_if(
      chunks, [](const ChunkPlan& chunk) { return chunk.recomputed.has_value(); });
  if (silent != chunks.end() && says != chunks.end())
    source.fault(source.chunk_lines[silent - chunks.begin()].layers,
                 fmt::format("chunk {} lacks recompute, which chunk {} has: add recompute = [] if "
                             "none of its layers is recomputed, or leave it out of all chunks "
                             "for the recipe to say",
                             silent - chunks.begin(), says - chunks.begin()));
  for (std::size_t i = 0; i < source.plan.chunks.size(); ++i) {
    const ChunkPlan& chunk = source.plan.chunks[i];
    if (!chunk.recomputed) continue;
    std::set<std::string> seen;
    for (const std::string& layer : *chunk.recomputed) {
      const int line = source.chunk_lines[i].recompute;
      if (std::ranges::count(chunk.layers, layer) == 0)
        source.fault(line, fmt::format("recompute names {}, which is none of the chunk's layers: "
                                       "name it in the chunk that has it, or leave it out",
                                       layer));
      else if (!seen.insert(layer).second)
        source.fault(line, fmt::format("recompute names {} twice: leave one out", layer));
    }
  }
}

}  // namespace

void check_rules(PlanSource& source, const PlannedModel& model) {
  check_model(source, model);
  check_ranks(source);
  check_counts(source);
  check_schedule(source);
  check_order(source);
  // Cover and recomputation need the chunks alone, and are checked whatever the action lists say.
  if (source.faults.empty()) check_actions(source);
  check_cover(source, model);
  check_recomputed(source);
}

}  // namespace penstock::partition
