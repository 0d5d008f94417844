// A checkpoint of a large model, saved and read in stages of any number: README.md.

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/checkpoint_writer.h"
#include "tests/measure/large_checkpoint/marks.h"
#include "tests/measure/large_checkpoint/rank_processes.h"
#include "tests/measure/large_checkpoint/rank_report.h"
#include "tests/measure/large_checkpoint/sparse_backend.h"
#include "tests/support/partition/even_plan.h"

namespace penstock::test {
namespace {

namespace fs = std::filesystem;

/// omni-ctc-7b with so many layers, trained in bf16 over FP32 masters by AdamW.
configs::Config large_recipe(int layers) {
  const std::vector<std::string> keys = {
      "model.base=omni-ctc-7b", fmt::format("model.layers={}", layers),
      "features.kind=waveform", "precision.compute=bf16",
      "trainer.device=cpu",     "data.train=train.jsonl"};
  return configs::parse_config("", "large_checkpoint", layers::model_families(), keys);
}

/// Replicas share the update where there are several.
configs::Config in_layout(configs::Config recipe, int stages, int replicas) {
  recipe.pipeline.stages = stages;
  recipe.pipeline.replicas = replicas;
  recipe.pipeline.shard_optimizer = replicas > 1;
  return recipe;
}

/// One rank of a training, or of a recognition: `trains` says which.
struct Rank {
  Rank(comm::Communicator& world, configs::Config config, bool trains)
      : recipe(std::move(config)),
        sequence(make_sequence(recipe, trains)),
        plan(even_plan(sequence, recipe.pipeline.stages, recipe.pipeline.replicas)),
        slots(trains ? runtime::make_optimizer(recipe.optimizer)->slots()
                     : runtime::OptimizerSlots{}),
        session(world, device(), {recipe, sequence, plan, slots.counts()}),
        saving(session.backend(), session.stream(), session.grid(), session.stage(), slots) {
    backend->forget(false);
  }

  static partition::LayerSequence make_sequence(const configs::Config& recipe, bool trains) {
    const int labels = partition::labels_without_text(recipe.model);
    return trains ? partition::build_trained_model(recipe, labels)
                  : partition::build_frozen_model(recipe.model, labels);
  }
  runtime::RankDevice device() {
    auto made = std::make_unique<SparseBackend>();
    backend = made.get();
    backend->forget(true);
    runtime::RankDevice device;
    device.backend = std::move(made);
    return device;
  }

  configs::Config recipe;
  partition::LayerSequence sequence;
  partition::Plan plan;
  runtime::OptimizerSlots slots;
  SparseBackend* backend = nullptr;
  runtime::Session session;
  runtime::Saving saving;
};

void print_parameters(const Rank& rank) {
  std::cout << fmt::format("{} parameters in {} layers\n", runtime::parameter_count(rank.sequence),
                           rank.sequence.size());
}

void save(comm::Communicator& world, const fs::path& output, int layers, int stages, int replicas) {
  RankReport report;
  Rank rank(world, in_layout(large_recipe(layers), stages, replicas), true);
  report.lap("making the stage");
  const auto pieces = rank.saving.pieces();
  set_marks(pieces);
  report.add("marks", static_cast<double>(count_marks(pieces)));
  report.add("saved, MB", static_cast<double>(runtime::bytes_of(pieces)) / 1e6);
  runtime::CheckpointWriter writer(rank.saving, {.output = output});
  if (const std::string lack = writer.write_beside(); !lack.empty()) throw CheckpointError(lack);
  runtime::TrainingState state;
  state.step = 1000;
  state.config = configs::flatten(rank.recipe);
  state.plan_toml = partition::plan_toml(rank.plan);
  report.begin();
  writer.begin(state);
  const auto outcome = writer.wait();
  if (!outcome->fault.empty()) throw CheckpointError(outcome->fault);
  report.lap("saving");
  report.peak("saving");
  if (world.rank() == 0) print_parameters(rank);
  report.print(world);
}

/// Opens a checkpoint on all ranks together, and restores a run or only its weights.
void load(comm::Communicator& world, const fs::path& path, int stages, int replicas, bool trains) {
  RankReport report;
  report.begin();
  const auto told = [](const std::string& line) { std::cout << line << '\n'; };
  const std::optional<runtime::Checkpoint> checkpoint =
      trains ? runtime::newest_together(world, path, told)
             : runtime::open_together(world, path, {.verified = runtime::Verified::read});
  if (!checkpoint) throw CheckpointError("there is no checkpoint");
  report.reads("opening and verifying");
  report.lap("opening and verifying");
  report.peak("opening and verifying");
  const configs::Config recipe = configs::unflatten(
      checkpoint->state().config, checkpoint->folder().string(), layers::model_families());
  Rank rank(world, in_layout(recipe, stages, replicas), trains);
  report.add("its arenas, MB", static_cast<double>(rank.backend->allocated()) / 1e6);
  report.lap("making the stage");
  report.begin();
  rank.saving.restore(*checkpoint, trains);
  report.reads("restoring");
  report.lap("restoring");
  report.peak("restoring");
  report.add("marks", static_cast<double>(count_marks(rank.saving.pieces())));
  if (world.rank() == 0)
    std::cout << fmt::format(
        "{} marks in the checkpoint\n",
        marks_of(*checkpoint, trains ? runtime::Verified::all : runtime::Verified::read));
  report.print(world);
}

int run(const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  const fs::path folder = words.at(1);
  const int stages = std::stoi(words.at(2)), replicas = std::stoi(words.at(3));
  const bool well = run_as_processes(stages * replicas, [&](comm::Communicator& world) {
    if (what == "save")
      save(world, folder, std::stoi(words.at(4)), stages, replicas);
    else
      load(world, folder, stages, replicas, what == "resume");
  });
  return well ? 0 : 1;
}

}  // namespace
}  // namespace penstock::test

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words.front();
  if ((what == "save" && argc == 6) || ((what == "resume" || what == "evaluate") && argc == 5))
    return penstock::test::run(words);
  std::cerr << "usage: large_checkpoint save FOLDER STAGES REPLICAS LAYERS\n"
               "       large_checkpoint resume FOLDER STAGES REPLICAS\n"
               "       large_checkpoint evaluate FOLDER STAGES 1\n";
  return 2;
}
