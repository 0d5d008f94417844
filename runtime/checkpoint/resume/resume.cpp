#include "runtime/checkpoint/resume/resume.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/agree.h"
#include "configs/flatten.h"
#include "configs/value.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_output.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/retention.h"

namespace penstock::runtime {
configs::Config saved_recipe(const configs::Config& config, const TrainingState& saved) {
  const layers::ModelFamily family = config.model.family.defaults();
  const auto kind = saved.config.find("model.kind");
  if (kind != saved.config.end() && kind->second != family.name())
    throw ConfigError(fmt::format(
        "no run can change its model when it resumes:\n  model.kind: was {}, is now {}\nSet it "
        "back, or start anew in another trainer.output.",
        kind->second, family.name()));
  return configs::unflatten(saved.config, "the checkpoint", {&family, 1});
}

std::optional<Checkpoint> find_start(const configs::Config& config, comm::Communicator& world,
                                     const std::function<void(const std::string&)>& note) {
  const std::string output = local_output(config).string();
  if (config.trainer.resume) {
    std::optional<Checkpoint> found = newest_together(world, output, note);
    comm::run_on_rank_0(world, [&] {
      if (found) best_checkpoint(output);  // throws if the mark is damaged
    });
    return found;
  }
  comm::run_on_rank_0(world, [&] {
    if (!list_checkpoints(output).empty())
      throw CheckpointError(
          fmt::format("{} already holds checkpoints: set trainer.resume=true to go on from the "
                      "newest, or choose another trainer.output",
                      output));
  });
  return std::nullopt;
}

std::optional<TrainingState> state_to_resume(const configs::Config& config) {
  if (!config.trainer.resume) return std::nullopt;
  const std::optional<Checkpoint> found = newest(local_output(config), [](const std::string&) {});
  return found ? std::optional(found->state()) : std::nullopt;
}

int choose_lanes(const configs::Config& config, const TrainingState* saved,
                 const std::function<void(const std::string&)>& note) {
  const int asked = config.trainer.lanes, replicas = config.pipeline.replicas;
  if (saved == nullptr) return asked > 0 ? asked : replicas;
  int lanes = asked > 0 ? asked : std::max(saved->lanes, replicas);
  if (asked == 0 && config.trainer.scaling != "none")  // the step may have become smaller
    lanes = std::max(replicas, std::min(lanes, config.data.micro_batches));
  if (lanes != saved->lanes)
    note(fmt::format(
        "the checkpoint has {}, but {}: gradients are now summed over {}. The last bits differ "
        "from those of a run that kept its lanes.",
        counted(saved->lanes, "lane"),
        asked > 0 ? fmt::format("trainer.lanes = {}", asked)
                  : fmt::format("there are {}", counted(replicas, "replica")),
        counted(lanes, "lane")));
  return lanes;
}

std::vector<int> choose_order(const configs::Config& config, const TrainingState* saved) {
  std::vector<int> asked = config.trainer.order;
  if (saved == nullptr) return asked;
  const configs::Config before = saved_recipe(config, *saved);
  std::vector<int> kept = before.trainer.order;
  if (asked.empty() && before.data.micro_batches == config.data.micro_batches) return kept;
  if (asked.empty() || asked == kept || accepts(config, "trainer.order")) return asked;
  const std::string& plan = config.pipeline.plan;
  throw ConfigError(fmt::format(
      "trainer.order is {}{}, but up to the checkpoint the micro-batches of a step were {}. A run "
      "keeps its order: leave trainer.order out{}, start anew in another trainer.output, or accept "
      "the change with the line\n  {}",
      configs::value_text(&asked),
      plan.empty() ? "" : fmt::format(" (of the recipe or of {})", plan),
      kept.empty() ? "as sampled" : fmt::format("in the order {}", configs::value_text(&kept)),
      plan.empty() ? "" : ", plan anew", accepting_line(config, {"trainer.order"})));
}

void note_reduction(const configs::Config& config, const TrainingState& saved,
                    const std::function<void(const std::string&)>& note) {
  const std::string before = saved_recipe(config, saved).pipeline.reduction;
  if (config.pipeline.reduction == before) return;
  note(fmt::format(
      "up to the checkpoint pipeline.reduction was {}, and now it is {}: the last bits differ from "
      "those of a run that kept it",
      before, config.pipeline.reduction));
}

void note_threads(const configs::Config& config, const TrainingState& saved,
                  const std::function<void(const std::string&)>& note) {
  const int before = saved_recipe(config, saved).trainer.threads;
  if (config.trainer.threads == before) return;
  note(fmt::format(
      "the checkpoint was made by {} a rank, and now trainer.threads = {}: the last bits differ "
      "from those of a run that kept its threads",
      counted(before, "thread"), config.trainer.threads));
}

}  // namespace penstock::runtime
