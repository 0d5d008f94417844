#include "partition/planner/report/plan_diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/quantities.h"
#include "partition/planner/report/plan_view.h"

// Plans are compared by the texts that a reader would see, row by row. Numbers that differ by less
// than their digits show are therefore equal. Orders and action lists are too long to show, so
// their rows say only that there is one and another.

namespace penstock::partition {
namespace {

constexpr const char* kNone = "–";

std::string layers_text(const std::vector<std::string>& layers) {
  return layers.empty()
             ? kNone
             : layer_names(layers.front(), layers.back(), static_cast<int>(layers.size()));
}

/// Joins the texts of the stage's chunks.
std::string of_chunks(const Plan& plan, int stage,
                      const std::function<std::string(const ChunkPlan&)>& text) {
  std::vector<std::string> parts;
  for (const ChunkPlan& chunk : plan.chunks)
    if (chunk.stage == stage) parts.push_back(text(chunk));
  if (std::ranges::all_of(parts, [](const std::string& part) { return part == kNone; }))
    return kNone;
  return fmt::format("{}", fmt::join(parts, " and "));
}

/// Returns the recomputed layers as runs of consecutive layers.
std::string recomputed_text(const ChunkPlan& chunk) {
  if (!chunk.recomputed) return kNone;
  std::vector<std::string> runs, run;
  const auto end_run = [&] {
    if (!run.empty()) runs.push_back(layers_text(run));
    run.clear();
  };
  for (const std::string& layer : chunk.layers)
    if (std::ranges::count(*chunk.recomputed, layer) > 0)
      run.push_back(layer);
    else
      end_run();
  end_run();
  return runs.empty() ? kNone : fmt::format("{}", fmt::join(runs, ", "));
}

/// Returns the share of the computing time that all chunks of a stage take together.
double share_of(const Plan& plan, int stage) {
  double share = 0;
  for (const ChunkPlan& chunk : plan.chunks)
    if (chunk.stage == stage) share += chunk.predicted.time_share;
  return share;
}

/// Returns 0 if the plan has no such stage.
double bytes_of(const Plan& plan, int stage) {
  return stage < plan.stages() ? static_cast<double>(plan.bytes_of(stage).total()) : 0;
}

double max_of(const Plan& plan, double (*of_stage)(const Plan&, int)) {
  double max = 0;
  for (int stage = 0; stage < plan.stages(); ++stage) max = std::max(max, of_stage(plan, stage));
  return max;
}

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Returns a text for each of the three answers: yes, no, and nothing, which leaves it to the
/// recipe.
std::string within(const Plan& plan) {
  if (!plan.recomputes_within) return "as the recipe says";
  return *plan.recomputes_within ? "yes" : "no";
}

std::string shares(const Plan& plan) {
  if (!plan.shards_optimizer) return "as the recipe says";
  return *plan.shards_optimizer ? "yes" : "no";
}

std::string seconds_of(const Plan& plan) {
  return plan.micro_batch_seconds > 0 ? fmt::format("{:g} s", plan.micro_batch_seconds)
                                      : "as the recipe says";
}

std::string bucket_of(const Plan& plan) {
  return plan.bucket_bytes > 0 ? fmt::format("{} bytes", plan.bucket_bytes) : "as the recipe says";
}

/// Comparison collects a row for each property whose text differs between the two plans.
class Comparison {
 public:
  Comparison(const Plan& first, const Plan& second) : plans_{first, second} {}

  std::vector<PlanDifference> rows() {
    add("model", [](const Plan& plan) { return plan.model; });
    add("layout", [](const Plan& plan) {
      return fmt::format("{} × {}", counted(plan.stages(), "stage"),
                         counted(plan.replicas(), "replica"));
    });
    add("schedule", [](const Plan& plan) { return plan.schedule; });
    add("micro-batches a step",
        [](const Plan& plan) { return fmt::format("{}", plan.micro_batches); });
    add("audio in a micro-batch", seconds_of);
    add("lanes", [](const Plan& plan) { return fmt::format("{}", plan.lanes); });
    if (plans_[0].order != plans_[1].order) add_lists("order", &Plan::order);
    if (plans_[0].actions != plans_[1].actions) add_lists("action lists", &Plan::actions);
    add("recomputed within units", within);
    add("micro-batches of a chunk that stay on the device", [](const Plan& plan) {
      return plan.resident > 0 ? fmt::format("{}", plan.resident) : std::string("all");
    });
    add("optimizer sharded over replicas", shares);
    add("gradients that replicas add at once", bucket_of);
    // A stage that one plan lacks has dashes in its column.
    for (int stage = 0; stage < std::max(plans_[0].stages(), plans_[1].stages()); ++stage)
      add_stage(stage);
    add("computing time, slowest stage",
        [](const Plan& plan) { return share_text(max_of(plan, share_of)); });
    add("memory, fullest stage",
        [](const Plan& plan) { return bytes_text(max_of(plan, bytes_of)); });
    return std::move(rows_);
  }

 private:
  void add(const std::string& what, const std::function<std::string(const Plan&)>& text) {
    PlanDifference row{what, text(plans_[0]), text(plans_[1])};
    if (row.first != row.second) rows_.push_back(std::move(row));
  }

  template <class T>
  void add_lists(const char* what, std::vector<T> Plan::*list) {
    const auto text = [&](const Plan& plan, const char* other) {
      return (plan.*list).empty() ? "none" : other;
    };
    rows_.push_back({what, text(plans_[0], "one"), text(plans_[1], "another")});
  }

  void add_stage(int stage) {
    const std::string name = fmt::format("stage {}", stage);
    const auto on_chunks = [&](const char* what,
                               const std::function<std::string(const ChunkPlan&)>& text) {
      add(name + what, [&](const Plan& plan) { return of_chunks(plan, stage, text); });
    };
    on_chunks(", layers", [](const ChunkPlan& chunk) { return layers_text(chunk.layers); });
    on_chunks(", recomputed", recomputed_text);
    add(name + ", ranks", [&](const Plan& plan) {
      return stage < plan.stages() ? fmt::format("{}", fmt::join(plan.ranks[stage], " ")) : kNone;
    });
    add(name + ", computing time", [&](const Plan& plan) {
      return stage < plan.stages() ? share_text(share_of(plan, stage)) : kNone;
    });
    add(name + ", memory", [&](const Plan& plan) {
      return stage < plan.stages() ? bytes_text(bytes_of(plan, stage)) : kNone;
    });
  }

  const Plan plans_[2];
  std::vector<PlanDifference> rows_;
};

}  // namespace

std::vector<PlanDifference> differences(const Plan& first, const Plan& second) {
  return Comparison(first, second).rows();
}

}  // namespace penstock::partition
