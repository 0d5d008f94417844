#include <gtest/gtest.h>

#include <map>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "layers/models/wav2vec2.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/small_families.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// A training on tones in two lanes, of which every run keeps its last checkpoint.
class FamilyResumption : public testing::TestWithParam<test::SmallFamily> {
 protected:
  FamilyResumption() { test::write_tone_corpus(folder_.path() / "train.jsonl", 6, 1); }

  fs::path output(const std::string& name) const { return folder_.path() / name; }

  /// Goes on in the output folder, where that has a checkpoint; adds each step's loss to `losses`.
  void train_on(const std::string& name, int steps, const std::vector<std::string>& layout,
                std::map<std::int64_t, double>& losses) const {
    const fs::path corpus = folder_.path() / "train.jsonl";
    configs::Config recipe = configs::parse_config(test::tone_recipe(corpus, corpus, output(name)),
                                                   "recipe.toml", layers::model_families(), layout);
    const int features = GetParam().features == 1 ? 1 : recipe.model.features;
    recipe.model = GetParam().model();
    recipe.model.features = features;
    if (GetParam().features == 1) {  // 100 frames a second
      recipe.features.kind = "waveform";
      auto& options = recipe.model.family.as<layers::Wav2Vec2Options>();
      options.kernels = {10, 8, 8};
      options.strides = {5, 4, 4};
    }
    recipe.data.micro_batches = 2;
    recipe.data.micro_batch_seconds = 1;
    recipe.trainer.steps = steps;
    recipe.trainer.validate_every = -1;
    recipe.trainer.resume = fs::exists(output(name));
    const int ranks = recipe.pipeline.stages * recipe.pipeline.replicas;
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      TrainingObserver observer;
      if (world.rank() == 0)
        observer.step = [&](const StepReport& step) { losses[step.step] = step.loss; };
      train({recipe}, world, observer);
    });
  }

  /// Bytes of every tensor of the last checkpoint: parameters, optimizer, state.
  std::map<std::string, std::string> saved(const std::string& name) const {
    const Checkpoint checkpoint = open_checkpoint(output(name));
    std::map<std::string, std::string> tensors;
    for (const auto& [tensor, place] : checkpoint.tensors()) {
      const std::int64_t elements = layers::element_count(place.shape);
      std::string& bytes = tensors[tensor];
      bytes.resize(static_cast<std::size_t>(elements) * layers::size_of(place.dtype));
      checkpoint.read(tensor, 0, elements, std::as_writable_bytes(std::span(bytes)));
    }
    return tensors;
  }

  test::TemporaryFolder folder_;
};

TEST_P(FamilyResumption, ChangesNoBitOnOtherStagesAndReplicas) {
  std::map<std::int64_t, double> whole, parts;
  train_on("whole", 4, {}, whole);
  EXPECT_EQ(whole.size(), 4u);
  train_on("parts", 1, {"pipeline.stages=3", "pipeline.schedule=zb-h1"}, parts);
  train_on("parts", 2,
           {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.shard_optimizer=true"}, parts);
  train_on("parts", 3, {"pipeline.stages=2", "pipeline.schedule=gpipe", "pipeline.resident=1"},
           parts);
  train_on("parts", 4, {"pipeline.recompute=stage"}, parts);
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(saved("parts"), saved("whole"));
  EXPECT_EQ(saved("whole").contains("decoder.output.weight"),
            (GetParam().decoder == "lm" || GetParam().decoder == "attention") &&
                !GetParam().networks.tied);
}

INSTANTIATE_TEST_SUITE_P(Of, FamilyResumption, testing::ValuesIn(test::small_families()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace penstock::runtime
