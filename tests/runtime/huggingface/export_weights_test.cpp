#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/export.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

/// A checkpoint of two steps on two stages in "source", which share their optimizer's state.
class ExportWeights : public testing::Test {
 protected:
  ExportWeights() {
    test::write_tone_corpus(in("train.jsonl"), 9, 1);
    run("source", {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.shard_optimizer=true"});
  }

  fs::path in(const std::string& name) const { return folder_.path() / name; }

  void run(const std::string& output, const Overrides& overrides) const {
    Overrides all = {"trainer.steps=2", "data.validation="};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const configs::Config config =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in(output)), "recipe.toml",
                              layers::model_families(), all);
    comm::run_as_threads({.ranks = config.pipeline.stages * config.pipeline.replicas},
                         [&](comm::Communicator& world) { train({config}, world, {}); });
  }

  double loss_of(const std::string& checkpoint) const {
    double loss = 0;
    comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
      const EvaluationTotals totals =
          evaluate_checkpoint({.checkpoint = in(checkpoint), .families = layers::model_families()},
                              {{in("train.jsonl")}}, world);
      loss = report_of(sum_of(totals)).loss;
    });
    return loss;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ExportWeights, HoldEveryWeightAndNoMore) {
  const WeightsReport report = export_weights(in("source"), in("weights"));
  EXPECT_EQ(report.files, 1);
  const Checkpoint before = open_checkpoint(in("source")), after = open_checkpoint(in("weights"));
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : before.tensors()) {
    const bool weight = !name.starts_with("optimizer.");
    EXPECT_EQ(after.contains(name), weight) << name;
    if (!weight) continue;
    EXPECT_EQ(test::read_tensor(after, name), test::read_tensor(before, name)) << name;
    numbers += layers::element_count(tensor.shape);
  }
  EXPECT_EQ(report.parameters, numbers);
  EXPECT_EQ(after.state(), before.state());
  EXPECT_EQ(SafetensorsFile(in("weights") / "model.safetensors").entries().size(),
            after.tensors().size());
}

TEST_F(ExportWeights, RoundToHalvesInSeveralFiles) {
  const Checkpoint before = open_checkpoint(in("source"));
  for (const layers::DType dtype : {layers::DType::bf16, layers::DType::f16}) {
    const fs::path folder = in(std::string(layers::name_of(dtype)));
    const WeightsReport report =
        export_weights(in("source"), folder, {.dtype = dtype, .shard_bytes = 3000});
    EXPECT_GT(report.files, 2);
    EXPECT_TRUE(fs::exists(folder / "model.safetensors.index.json"));
    const Checkpoint after = open_checkpoint(folder);
    for (const auto& [name, tensor] : after.tensors()) {
      EXPECT_EQ(tensor.dtype, dtype);
      const std::vector<float> a = test::read_tensor(before, name),
                               b = test::read_tensor(after, name);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const float rounded = dtype == layers::DType::f16
                                  ? layers::to_float(layers::to_half(a[i]))
                                  : layers::to_float(layers::to_bfloat16(a[i]));
        EXPECT_EQ(b[i], rounded) << name;
      }
    }
  }
}

TEST_F(ExportWeights, StartRunsAndAreEvaluated) {
  export_weights(in("source"), in("weights"));
  export_weights(in("source"), in("halves"), {.dtype = layers::DType::bf16});
  EXPECT_EQ(loss_of("weights"), loss_of("source"));
  EXPECT_NE(loss_of("halves"), loss_of("source"));
  EXPECT_NEAR(loss_of("halves"), loss_of("source"), 0.05 * loss_of("source"));
  for (const std::string from : {"source", "weights", "halves"})
    run("from-" + from, {"trainer.init=" + in(from).string()});
  const Checkpoint source = open_checkpoint(in("from-source")),
                   weights = open_checkpoint(in("from-weights")),
                   halves = open_checkpoint(in("from-halves"));
  for (const auto& [name, tensor] : source.tensors()) {
    if (name.starts_with("optimizer.")) continue;
    EXPECT_EQ(test::read_tensor(weights, name), test::read_tensor(source, name)) << name;
  }
  EXPECT_NE(test::read_tensor(halves, "output.weight"), test::read_tensor(source, "output.weight"));
}

TEST_F(ExportWeights, AreNoCheckpointToResumeFrom) {
  fs::create_directory(in("resumed"));
  export_weights(in("source"), in("resumed") / "checkpoint-000000002");
  const std::string refused = test::message_of<CheckpointError>([&] {
    run("resumed", {"trainer.resume=true", "trainer.steps=3"});
  });
  EXPECT_NE(refused.find("holds no tensor 'optimizer."), std::string::npos) << refused;
}

TEST_F(ExportWeights, LeaveNothingWhereTheyFail) {
  EXPECT_THROW(export_weights(in("source"), in("source") / "checkpoint-000000002" / "weights"),
               CheckpointError);
  EXPECT_THROW(export_weights(in("nowhere"), in("weights")), CheckpointError);
  EXPECT_FALSE(fs::exists(in("weights")));
  export_weights(in("source"), in("weights"));
  EXPECT_THROW(export_weights(in("source"), in("weights")), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
