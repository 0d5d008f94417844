// The peak of a whole training's resident memory, beside its plan.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/resident_memory.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr int kPeakStages = 2, kPeakReplicas = 2;

/// 2 stages × 2 replicas of the whole command, all in this process: data, two steps, a validation
/// and a save. Returns what their plan allows the ranks together, and copies of what they save.
std::size_t train_as_threads(const std::filesystem::path& folder, const std::string& compute,
                             int hidden) {
  configs::Config config =
      configs::parse_config(test::tone_recipe(folder / "train.jsonl", folder / "validation.jsonl",
                                              folder / fmt::format("{}-{}", compute, hidden)),
                            "recipe.toml", layers::model_families());
  config.model.family.as<layers::DeepSpeech2Options>().hidden = hidden;
  config.precision.compute = compute;
  config.trainer.steps = config.trainer.validate_every = config.trainer.checkpoint_every = 2;
  config.pipeline.stages = kPeakStages;
  config.pipeline.replicas = kPeakReplicas;
  comm::run_as_threads({.ranks = kPeakStages * kPeakReplicas},
                       [&](comm::Communicator& world) { train({config}, world, {}); });

  const partition::LayerSequence sequence = partition::build_model(config.model, 5);
  partition::PlannedModel model{partition::model_summary(config.model, 5), {}};
  for (const auto& layer : sequence.layers) model.layers.push_back(layer->name());
  const Checkpoint saved = open_checkpoint(config.trainer.output);
  const partition::Plan plan = partition::parse_plan(saved.state().plan_toml, "plan", model);
  std::size_t bytes = 0;
  for (const partition::ChunkPlan& chunk : plan.chunks)
    bytes += kPeakReplicas * chunk.predicted.bytes.total();
  for (const auto& [name, tensor] : saved.tensors())
    bytes += static_cast<std::size_t>(layers::element_count(tensor.shape)) *
             layers::size_of(tensor.dtype);
  return bytes;
}

class TrainingMemory : public testing::TestWithParam<const char*> {};

// The baseline is what libraries keep for themselves once a small such training has been run.
TEST_P(TrainingMemory, PeakIsWithinFivePercentOfThePlan) {
  if (test::sanitised()) GTEST_SKIP() << "the sanitiser keeps memory of its own";
  const test::TemporaryFolder folder;
  test::write_tone_corpus(folder.path() / "train.jsonl", 30, 1);
  test::write_tone_corpus(folder.path() / "validation.jsonl", 7, 2);
  train_as_threads(folder.path(), GetParam(), 32);
  test::restart_peak();
  const std::size_t baseline = test::resident();
  const std::size_t planned = train_as_threads(folder.path(), GetParam(), 640);
  ASSERT_GT(planned, std::size_t{200} << 20);
  const double used = static_cast<double>(test::peak_resident() - baseline);
  EXPECT_NEAR(used / static_cast<double>(planned), 1, 0.05)
      << "planned " << (planned >> 20) << " MiB, baseline " << (baseline >> 20) << " MiB";
}

INSTANTIATE_TEST_SUITE_P(In, TrainingMemory, testing::Values("fp32", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace penstock::runtime
