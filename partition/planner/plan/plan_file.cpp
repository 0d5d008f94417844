#include "partition/planner/plan/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "configs/config.h"
#include "configs/source.h"
#include "partition/planner/plan/any_plan.h"
#include "partition/planner/plan/file/plan_source.h"

// A plan file is TOML. Keys without a value in the plan are left out, and the recipe decides about
// them:
//
//   model = "…"                       # model_summary(): a run with another model rejects the plan
//   schedule = "1f1b"
//   micro_batches = 8
//   lanes = 2
//   ranks = [                         # a row for each stage, a column for each replica
//     [0, 2],
//     [1, 3],
//   ]
//   [[chunk]]
//   stage = 0
//   layers = ["conv1", "norm1"]
//   recompute = []
//   [chunk.predicted]                 # for people: training does not use it
//   time_share = 0.52
//   …

namespace penstock::partition {
namespace {

/// Formats quoted names as a list with a few names per line.
std::string quoted_list(const std::vector<std::string>& names) {
  std::string text = "[";
  std::size_t column = 0;
  for (const std::string& name : names) {
    column += name.size() + 4;
    const bool wrap = column > 90;
    if (wrap) column = name.size() + 4;
    text += fmt::format("{}\"{}\"", &name == &names.front() ? "" : wrap ? ",\n  " : ", ", name);
  }
  return text + "]";
}

/// Formats a chunk. A list of recomputed layers is written even if it is empty: without one, the
/// recipe would decide.
std::string chunk_toml(const ChunkPlan& chunk) {
  const StageBytes& bytes = chunk.predicted.bytes;
  std::string text =
      fmt::format("\n[[chunk]]\nstage = {}\nlayers = {}\n", chunk.stage, quoted_list(chunk.layers));
  if (chunk.recomputed)
    text +=
        fmt::format("recompute = {}  # whose activations are recomputed before their backward\n",
                    quoted_list(*chunk.recomputed));
  text += fmt::format(
      "[chunk.predicted]  # for people: training computes its own; bytes of all the stage's "
      "chunks\n"
      "time_share = {}\nparameters = {}\n",
      toml_number(chunk.predicted.time_share), chunk.predicted.parameters);
  for (const auto& [kind, amount] : kinds_of_bytes(bytes)) {
    text += fmt::format("{}_bytes = {}\n", kind, amount);
  }
  return text;
}

}  // namespace

// Optional keys come before the chunks, because TOML counts a key after [[chunk]] to
// that chunk.
std::string plan_toml(const Plan& plan) {
  std::string text =
      "# Which rank runs which layers. Layers may be moved to a neighbouring chunk and ranks "
      "changed\n"
      "# about; every layer must stay in order and every rank appear once.\n";
  text += fmt::format("model = \"{}\"\nschedule = \"{}\"\n", plan.model, plan.schedule);
  text += fmt::format("micro_batches = {}  # of a step, over all lanes\n", plan.micro_batches);
  if (plan.micro_batch_seconds > 0)
    text += fmt::format("micro_batch_seconds = {}  # of audio, at most\n",
                        toml_number(plan.micro_batch_seconds));
  text += fmt::format("lanes = {}  # sums of gradients, dealt to the replicas\n", plan.lanes);
  if (!plan.order.empty())
    text += fmt::format(
        "order = [{}]  # of a step's micro-batches, 0 being the longest: a run keeps it\n",
        fmt::join(plan.order, ", "));
  if (!plan.actions.empty()) {
    text += "actions = [  # of each stage in a step of the busiest replica\n";
    for (const std::string& row : plan.actions) text += fmt::format("  \"{}\",\n", row);
    text += "]\n";
  }
  if (plan.recomputes_within)
    text += fmt::format(
        "recompute_within = {}  # whether residual units remake what their cheap parts wrote\n",
        *plan.recomputes_within);
  if (plan.resident > 0)
    text += fmt::format(
        "resident = {}  # of each chunk: micro-batches whose activations stay on the device\n",
        plan.resident);
  if (plan.shards_optimizer)
    text += fmt::format("shard_optimizer = {}  # whether a stage's replicas share its update\n",
                        *plan.shards_optimizer);
  if (plan.bucket_bytes > 0)
    text += fmt::format("bucket_bytes = {}  # of gradient that replicas add at once\n",
                        plan.bucket_bytes);
  text += "ranks = [  # a row for each stage, a column for each replica\n";
  for (const auto& row : plan.ranks) text += fmt::format("  [{}],\n", fmt::join(row, ", "));
  text += "]\n";
  for (const ChunkPlan& chunk : plan.chunks) text += chunk_toml(chunk);
  return text;
}

// The rules look up lines and lists that only sound syntax has, so they wait until there is no
// fault.
Plan parse_plan(const std::string& text, const std::string& name, const PlannedModel& model) {
  PlanSource source = plan_of_toml(text, name);
  if (source.faults.empty()) check_rules(source, model);
  if (!source.faults.empty()) {
    throw ConfigError(
        fmt::format("the plan can't be used:\n  {}", fmt::join(source.faults, "\n  ")));
  }
  return source.plan;
}

Plan read_plan(const std::filesystem::path& file, const PlannedModel& model) {
  const auto text = configs::file_text(file);
  if (!text || text->empty()) throw ConfigError("pipeline.plan: can't read " + file.string());
  return parse_plan(*text, file.string(), model);
}

void write_plan(const std::filesystem::path& file, const Plan& plan) {
  if (!atomic_write(file, plan_toml(plan)))
    throw ConfigError("can't write the plan to " + file.string());
}

Plan read_any_plan(const std::filesystem::path& file) {
  const auto text = configs::file_text(file);
  if (!text || text->empty())
    throw ConfigError(
        fmt::format("can't read the plan {}: `penstock plan -o` writes plan files", file.string()));
  return parse_any_plan(*text, file.string());
}

}  // namespace penstock::partition
