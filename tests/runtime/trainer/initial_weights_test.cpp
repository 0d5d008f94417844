#include "runtime/trainer/initial_weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unicode.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/runtime/runs_from_source.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Overrides = std::vector<std::string>;

class InitialWeightsOfRun : public test::RunsFromSource {
 protected:
  /// Removes a key from the manifest, as if the checkpoint were older than the key.
  void forget(const std::string& key) const {
    const auto file = open_checkpoint(in("source")).folder() / kManifestFile;
    Manifest manifest = parse_manifest(test::read_file(file));
    ASSERT_EQ(manifest.state.config.erase(key), 1u);
    test::write_file(file, to_text(manifest));
  }
};

TEST_F(InitialWeightsOfRun, AreThoseOfTheCheckpoint) {
  const std::string output = start("tuned", {"optimizer.freeze=[*.weight]"});
  for (const char* name : {"conv1.weight", "rnn1.weight", "norm1.weight", "output.weight"})
    EXPECT_TRUE(as_in_source(output, name)) << name;
  EXPECT_TRUE(noted("starts from the weights of " + in("source"))) << notes_;
  EXPECT_FALSE(noted("anew")) << notes_;
  const Checkpoint tuned = open_checkpoint(output);
  EXPECT_EQ(tuned.state().step, 1);
  EXPECT_EQ(tuned.state().optimizer_steps, 1);
  EXPECT_FALSE(tuned.contains("optimizer.mean/conv1.weight"));
  EXPECT_TRUE(tuned.contains("optimizer.mean/norm1.bias"));
}

const Overrides kLora = {"lora.rank=2", "lora.targets=[rnn1.input]", "lora.train=[output.*]"};

Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

TEST_F(InitialWeightsOfRun, LeaveNewAdaptersToTheRun) {
  const std::string output = start("adapted", kLora);
  EXPECT_TRUE(noted("; 2 parameters of LoRA start anew")) << notes_;
  for (const char* name : {"conv1.weight", "rnn1.input.weight", "output.weight"})
    EXPECT_TRUE(as_in_source(output, name)) << name;
  const Checkpoint adapted = open_checkpoint(output);
  EXPECT_FALSE(adapted.contains("optimizer.mean/rnn1.input.weight"));
  EXPECT_TRUE(adapted.contains("optimizer.mean/rnn1.input.lora_A.weight"));
}

TEST_F(InitialWeightsOfRun, TakeAdaptersThatTheCheckpointHas) {
  run("adapted", with(kLora, {"optimizer.learning_rate=0.01"}));
  const Overrides from = {"trainer.init=" + in("adapted")};
  const std::string output = start("again", with(kLora, from));
  EXPECT_FALSE(noted("anew")) << notes_;
  for (const char* name : {"rnn1.input.lora_A.weight", "rnn1.input.lora_B.weight"})
    EXPECT_EQ(tensor(output, name), tensor(in("adapted"), name)) << name;
  start("scaled", with(kLora, with(from, {"lora.alpha=3"})));
  EXPECT_TRUE(noted("lora.alpha is \"3\", in the checkpoint \"16\"")) << notes_;
  const std::string other = fault(with(from, {"lora.rank=2", "lora.targets=[*.input, output]"}));
  EXPECT_NE(other.find("'output.lora_A.weight', f32[2, 12], is missing"), std::string::npos)
      << other;
  EXPECT_NE(fault(from).find("'rnn1.input.lora_A.weight' is no tensor"), std::string::npos);
}

TEST_F(InitialWeightsOfRun, AreHalvesIfFrozenInHalves) {
  const Overrides half = with(kLora, {"precision.compute=bf16"});
  const std::string output = in("halves");
  run("halves", half);
  const Bytes before = tensor(output, "conv1.weight");
  const Checkpoint halves = open_checkpoint(output);
  EXPECT_EQ(halves.tensor("conv1.weight").dtype, layers::DType::bf16);
  EXPECT_EQ(halves.tensor("norm1.weight").dtype, layers::DType::f32);
  EXPECT_EQ(halves.tensor("output.weight").dtype, layers::DType::f32);
  run("halves", with(half, {"trainer.resume=true", "trainer.steps=3"}));
  EXPECT_EQ(open_checkpoint(output).state().step, 3);
  EXPECT_EQ(tensor(output, "conv1.weight"), before);
  run("straight", with(half, {"trainer.steps=3"}));
  run("stages", with(half, {"trainer.steps=3", "pipeline.stages=3"}), 3);
  const Checkpoint straight = open_checkpoint(in("straight"));
  for (const auto& [name, stored] : straight.tensors())
    EXPECT_EQ(tensor(in("stages"), name), tensor(in("straight"), name)) << name;
}

TEST_F(InitialWeightsOfRun, ChangeNoBitOverRanks) {
  run("alone", {});
  run("stages", {"pipeline.stages=3"}, 3);
  run("replicas", {"pipeline.replicas=2", "pipeline.shard_optimizer=true"}, 2);
  const Checkpoint alone = open_checkpoint(in("alone"));
  for (const auto& [name, of_alone] : alone.tensors())
    for (const char* other : {"stages", "replicas"})
      EXPECT_EQ(tensor(in(other), name), tensor(in("alone"), name)) << name << ", " << other;
}

TEST_F(InitialWeightsOfRun, OtherLabelsGetANewHead) {
  EXPECT_TRUE(
      as_in_source(start("same", {"text.alphabet=abcd", "text.fold=none"}), "output.weight"));
  const std::string longer = start("longer", {"text.alphabet=abcde"});
  EXPECT_TRUE(as_in_source(longer, "rnn1.weight"));
  EXPECT_TRUE(as_in_source(longer, "output.norm.weight"));
  EXPECT_TRUE(noted("output.weight starts anew")) << notes_;
  EXPECT_TRUE(noted("text.alphabet is \"abcde\", in the checkpoint \"abcd\"")) << notes_;
  EXPECT_EQ(open_checkpoint(longer).tensor("output.weight").shape.front(), 6);

  const std::string other = start("other", {"text.alphabet=dcba"});
  EXPECT_FALSE(as_in_source(other, "output.weight"));
  EXPECT_TRUE(noted("output.weight starts anew")) << notes_;
}

TEST_F(InitialWeightsOfRun, NewHeadsStartAsWithoutCheckpoint) {
  const std::string random = start("random", {"trainer.init="});
  for (const char* compute : {"fp32", "bf16"})
    for (const char* shard : {"false", "true"}) {
      const std::string output = start(fmt::format("{}-{}", compute, shard),
                                       {"trainer.init_head=new", "pipeline.replicas=2",
                                        fmt::format("precision.compute={}", compute),
                                        fmt::format("pipeline.shard_optimizer={}", shard)},
                                       2);
      EXPECT_EQ(tensor(output, "output.weight"), tensor(random, "output.weight")) << compute;
      EXPECT_TRUE(as_in_source(output, "conv1.weight")) << compute << ", shared " << shard;
    }
}

TEST_F(InitialWeightsOfRun, TrainedHeadsStartAnewInShardsToo) {
  const Overrides anew = {"trainer.init_head=new", "precision.compute=bf16", "trainer.lanes=2"};
  run("alone", anew);
  Overrides shared = anew;
  shared.insert(shared.end(), {"pipeline.replicas=2", "pipeline.shard_optimizer=true"});
  run("shared", shared, 2);
  for (const char* name : {"output.weight", "conv1.weight"})
    EXPECT_EQ(tensor(in("shared"), name), tensor(in("alone"), name)) << name;
}

TEST_F(InitialWeightsOfRun, HeadsAreKeptOrRenewedOnRequest) {
  const std::string kept = start("kept", {"text.alphabet=dcba", "trainer.init_head=keep"});
  EXPECT_TRUE(as_in_source(kept, "output.weight"));
  EXPECT_TRUE(noted("output is taken although text.alphabet is \"dcba\"")) << notes_;
  EXPECT_FALSE(as_in_source(start("new", {"trainer.init_head=new"}), "output.weight"));
}

TEST_F(InitialWeightsOfRun, NamesEveryTensorThatDoesNotFit) {
  const std::string wider = fault({"model.hidden=13"});
  for (const char* part :
       {"'rnn1.weight' is f32[", "'rnn2.input.weight' is f32[",
        "'output.weight' is f32[5, 12], but", "the model expects f32[5, 13]", "trainer.init"})
    EXPECT_NE(wider.find(part), std::string::npos) << part << " is not in " << wider;
  EXPECT_EQ(wider.find("'conv1.weight'"), std::string::npos) << wider;

  const std::string deeper = fault({"model.layers=3"});
  EXPECT_NE(deeper.find("'rnn3.weight', f32["), std::string::npos) << deeper;
  EXPECT_NE(deeper.find("is missing"), std::string::npos) << deeper;
  const std::string flatter = fault({"model.layers=1"});
  EXPECT_NE(flatter.find("'rnn2.weight' is no tensor of the model"), std::string::npos) << flatter;
  EXPECT_EQ(flatter.find("optimizer."), std::string::npos) << flatter;
  EXPECT_NE(fault({"text.alphabet=abcde", "trainer.init_head=keep"}).find("'output.weight'"),
            std::string::npos);
  EXPECT_TRUE(list_checkpoints(in("refused")).empty());
}

TEST_F(InitialWeightsOfRun, RefusesWhatIsNoCheckpoint) {
  EXPECT_NE(fault({"trainer.init=" + in("nowhere")}).find("nowhere"), std::string::npos);
  const auto shard = open_checkpoint(in("source")).folder() / "stage-0.safetensors";
  std::string bytes = test::read_file(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_file(shard, bytes);
  EXPECT_NE(fault({}).find("damaged"), std::string::npos);
}

TEST_F(InitialWeightsOfRun, GivesWayToARunThatResumes) {
  const Overrides resumed = {"trainer.resume=true"};
  run("tuned", resumed);
  EXPECT_TRUE(noted("starts from the weights")) << notes_;
  const Bytes before = tensor(in("tuned"), "conv1.weight");
  EXPECT_EQ(run("tuned", {"trainer.resume=true", "trainer.steps=3"}).steps, 1);
  EXPECT_FALSE(noted("starts from the weights")) << notes_;
  run("through", {"trainer.steps=3"});
  EXPECT_EQ(tensor(in("tuned"), "conv1.weight"), tensor(in("through"), "conv1.weight"));
  EXPECT_NE(tensor(in("tuned"), "conv1.weight"), before);
}

TEST_F(InitialWeightsOfRun, SaysWhichKeysOfTheModelDiffer) {
  run("tuned", {"model.dropout=0.3", "features.window=hann"});
  EXPECT_TRUE(noted("features.window is \"hann\", in the checkpoint \"hamming\"")) << notes_;
  EXPECT_FALSE(noted("model.dropout")) << notes_;  // evaluation drops nothing
}

TEST_F(InitialWeightsOfRun, KeysThatCheckpointsLackHaveTheirDefaults) {
  forget("features.window");
  run("same", {});
  EXPECT_FALSE(noted("features.window")) << notes_;
  run("other", {"features.window=hann"});
  EXPECT_TRUE(noted("features.window is \"hann\", in the checkpoint \"hamming\"")) << notes_;
}

TEST_F(InitialWeightsOfRun, CheckpointsWithoutAKindOfTextHaveAlphabets) {
  forget("text.kind");
  EXPECT_TRUE(as_in_source(start("same", {}), "output.weight"));
  const std::string pieces = in("pieces.model");
  test::write_file(pieces, train_pieces({"abab cdcd", "abab cdcd"}, {8, "bpe"}));
  start("pieces", {"text.kind=sentencepiece", "text.model=" + pieces});
  EXPECT_TRUE(noted("output.weight starts anew")) << notes_;
  EXPECT_TRUE(noted("text.kind is \"sentencepiece\", in the checkpoint \"alphabet\"")) << notes_;
}

TEST_F(InitialWeightsOfRun, NotesCutLongValuesAtCharacters) {
  std::string alphabet = "abcd", shown = "abcd";
  for (int i = 0; i < 50; ++i) {
    const std::string letter = to_utf8(std::u32string(1, static_cast<char32_t>(0x3b1 + i)));
    alphabet += letter;
    if (i < 35) shown += letter;
  }
  run("long", {"text.alphabet=" + alphabet});
  EXPECT_TRUE(noted("text.alphabet is \"" + shown + "…\", in the checkpoint \"abcd\"")) << notes_;
}

TEST_F(InitialWeightsOfRun, NewHeadsMustBeTrained) {
  for (const char* other : {"trainer.init_head=new", "text.alphabet=dcba"}) {
    const std::string message = refusal({other, "optimizer.freeze=[output.w*]"});
    EXPECT_NE(message.find("output.weight starts anew, with random weights"), std::string::npos)
        << message;
    EXPECT_NE(message.find("trainer.init_head = keep"), std::string::npos) << message;
  }
  EXPECT_TRUE(list_checkpoints(in("refused")).empty());
  run("kept", {"trainer.init_head=keep", "text.alphabet=dcba", "optimizer.freeze=[output.w*]"});
  EXPECT_TRUE(as_in_source(in("kept"), "output.weight"));
}

TEST_F(InitialWeightsOfRun, FrozenRunsResumeToTheBit) {
  const Overrides frozen = {"optimizer.freeze=[conv*,rnn1*]", "optimizer.kind=novograd",
                            "optimizer.learning_rates=[output.*: 3]", "trainer.resume=true"};
  Overrides longer = frozen;
  longer.emplace_back("trainer.steps=4");
  run("through", longer);
  run("parts", frozen);
  run("parts", longer);
  const Checkpoint through = open_checkpoint(in("through"));
  for (const auto& [name, stored] : through.tensors())
    EXPECT_EQ(tensor(in("parts"), name), tensor(in("through"), name)) << name;
  longer[0] = "optimizer.freeze=[conv*]";
  EXPECT_THROW(run("parts", longer), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
