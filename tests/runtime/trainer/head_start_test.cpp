#include "runtime/trainer/head_start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/huggingface/export.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/runtime/runs_from_source.h"

namespace penstock::runtime {
namespace {

constexpr int kNewRow = -1;

/// Runs with trainer.init_head = pieces. The source has the labels abcd, and so the rows 0 to 4.
class HeadStart : public test::RunsFromSource {
 protected:
  static Overrides by_rows(Overrides more) {
    more.emplace_back("trainer.init_head=pieces");
    return more;
  }

  /// Fails unless each row of the head begins as the source's row of that number or, for kNewRow,
  /// as in a new run.
  void expect_rows(const std::string& source, const Overrides& overrides,
                   const std::vector<int>& sources) {
    const std::string kept = start("kept" + fmt::to_string(++starts_),
                                   by_rows(with(overrides, {"trainer.init=" + source})));
    const std::string notes = notes_;
    const auto found = rows(kept, "output.weight"), of_source = rows(source, "output.weight");
    const auto random =
        rows(start(kept + "-random", with(overrides, {"trainer.init="})), "output.weight");
    notes_ = notes;
    ASSERT_EQ(found.size(), sources.size());
    for (std::size_t row = 0; row < found.size(); ++row)
      EXPECT_EQ(found[row], sources[row] == kNewRow
                                ? random[row]
                                : of_source[static_cast<std::size_t>(sources[row])])
          << source << ", row " << row;
  }

  static Overrides with(Overrides all, const Overrides& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// Writes pieces of these texts and returns the overrides that choose them.
  Overrides pieces_of(const std::string& name, const std::vector<std::string>& texts,
                      const PieceTraining& training) const {
    test::write_file(in(name), train_pieces(texts, training));
    return {"text.kind=sentencepiece", "text.model=" + in(name)};
  }

  void expect_parts(const std::string& message, const std::vector<std::string>& parts) const {
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
  }

  int starts_ = 0;
};

TEST_F(HeadStart, KeepsTheRowsOfSharedLabels) {
  expect_rows(in("source"), {"text.alphabet=daéxbc"}, {0, 4, 1, kNewRow, kNewRow, 2, 3});
  for (const char* name : {"conv1.weight", "rnn2.weight", "output.norm.weight"})
    EXPECT_TRUE(as_in_source(in("kept1"), name)) << name;
  EXPECT_TRUE(noted("starts from the weights of " + in("source"))) << notes_;
  EXPECT_TRUE(
      noted("; output keeps 5 of 7 rows, whose labels the checkpoint has too; 2 start "
            "anew: 'é', 'x'; text.alphabet is \"daéxbc\", in the checkpoint \"abcd\"\n"))
      << notes_;
}

TEST_F(HeadStart, RowsBeyondTheLabelsAreNotKept) {
  run("wide", {"trainer.seed=9", "trainer.init=", "model.classes=7"});
  const Overrides wider = {"text.alphabet=abcdx", "model.classes=8"};
  expect_rows(in("wide"), wider, {0, 1, 2, 3, 4, kNewRow, kNewRow, kNewRow});
  EXPECT_TRUE(noted("3 start anew: 'x', 2 beyond the labels")) << notes_;
  EXPECT_FALSE(noted("model.classes")) << notes_;
  expect_rows(in("wide"), {}, {0, 1, 2, 3, 4});
}

TEST_F(HeadStart, SameLabelsGetTheWholeHead) {
  run("wide", {"trainer.seed=9", "trainer.init=", "model.classes=7"});
  expect_rows(in("wide"), {"model.classes=7"}, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(noted("keeps")) << notes_;
}

/// The layer that projects frames to the joint network is a part of the head.
TEST_F(HeadStart, ATransducerTakesTheEncoderOfCtc) {
  const Overrides small = {"model.decoder=rnnt", "decoder.width=5", "decoder.joint=7"};
  const std::string rnnt = start("rnnt", with(small, {"trainer.init_head=new"}));
  for (const char* name : {"conv1.weight", "rnn2.weight", "output.norm.weight"})
    EXPECT_TRUE(as_in_source(rnnt, name)) << name;
  EXPECT_EQ(rows(rnnt, "output.weight").size(), 7u);
  EXPECT_TRUE(noted("output.weight and transducer.embedding.weight")) << notes_;
  EXPECT_TRUE(noted("start anew")) << notes_;

  const Overrides other = with(small, {"trainer.init=" + rnnt, "text.alphabet=abcx"});
  expect_parts(refusal(by_rows(other)),
               {"trainer.init_head = pieces keeps rows", "use trainer.init_head = auto"});
  expect_parts(fault({"trainer.init=" + rnnt}), {"output.weight", "trainer.init_head = new"});

  const Overrides beside_ctc = with(small, {"trainer.init=" + rnnt, "decoder.ctc_weight=0.3"});
  expect_parts(fault(beside_ctc), {"output.weight", "trainer.init_head = new"});
  const std::string both = start("both", with(beside_ctc, {"trainer.init_head=new"}));
  EXPECT_EQ(rows(both, "output.weight").size(), 7u + 5u);  // the joint network's, and CTC's classes

  const std::string ctc = start("ctc", {"trainer.init=" + rnnt, "trainer.init_head=new"});
  EXPECT_TRUE(as_in_source(ctc, "rnn2.weight"));
  run("tanh", with(small, {"trainer.init=" + rnnt, "decoder.activation=tanh"}));
  EXPECT_TRUE(noted("something else, since decoder.activation is \"tanh\"")) << notes_;
  expect_parts(refusal(with(small, {"trainer.init_head=new", "optimizer.freeze=[\"output.*\"]"})),
               {"\"output.*\", \"transducer.*\" to lora.train"});
}

TEST_F(HeadStart, ALanguageModelTakesTheEncoderOfCtc) {
  const Overrides small = {"model.decoder=lm", "decoder.width=8", "decoder.heads=2",
                           "decoder.inner=5"};
  const std::string lm = start("lm", with(small, {"trainer.init_head=new"}));
  for (const char* name : {"conv1.weight", "rnn2.weight", "output.norm.weight"})
    EXPECT_TRUE(as_in_source(lm, name)) << name;
  EXPECT_EQ(rows(lm, "output.weight").size(), 8u);
  EXPECT_TRUE(noted("output to decoder.output start anew")) << notes_;
  EXPECT_FALSE(noted("something else")) << notes_;
  EXPECT_TRUE(
      as_in_source(start("ctc", {"trainer.init=" + lm, "trainer.init_head=new"}), "rnn2.weight"));
  run("whole", with(small, {"trainer.init=" + lm}));
  EXPECT_FALSE(noted("anew")) << notes_;
  const Overrides other = with(small, {"trainer.init=" + lm, "text.alphabet=abcx"});
  expect_parts(refusal(by_rows(other)), {"trainer.init_head = pieces keeps rows"});
}

TEST_F(HeadStart, ChangesNoBitOverRanks) {
  const Overrides other = by_rows({"text.alphabet=dxcbya"});
  run("alone", other);
  run("stages", with(other, {"pipeline.stages=2"}), 2);
  run("replicas", with(other, {"pipeline.replicas=2"}), 2);
  run("shared", with(other, {"pipeline.replicas=2", "pipeline.shard_optimizer=true"}), 2);
  const Checkpoint alone = open_checkpoint(in("alone"));
  for (const auto& [name, of_alone] : alone.tensors())
    for (const char* layout : {"stages", "replicas", "shared"})
      EXPECT_EQ(tensor(in(layout), name), tensor(in("alone"), name)) << name << ", " << layout;
}

TEST_F(HeadStart, HalvesKeepWholeRowsInTheirMasters) {
  const Overrides other = by_rows({"text.alphabet=dxcba", "precision.compute=bf16",
                                   "pipeline.replicas=2", "pipeline.shard_optimizer=true"});
  const auto found = rows(start("halves", other, 2), "output.weight");
  const auto of_source = rows(in("source"), "output.weight");
  EXPECT_EQ(found[1], of_source[4]);
  EXPECT_EQ(found[5], of_source[1]);
}

TEST_F(HeadStart, ReadsEveryKindOfCheckpoint) {
  const std::vector<int> sources = {0, kNewRow, 4, 3, 2, 1};
  const Overrides other = {"text.alphabet=xdcba"};
  expect_rows(open_checkpoint(in("source")).folder(), other, sources);
  for (const layers::DType dtype : {layers::DType::f32, layers::DType::f16, layers::DType::bf16}) {
    const std::string exported = in(std::string(layers::name_of(dtype)));
    export_weights(in("source"), exported, {.dtype = dtype});
    expect_rows(exported, other, sources);
  }
}

TEST_F(HeadStart, TakesTheRowsOfMovingAverages) {
  run("averaged", {"trainer.init=", "trainer.ema=0.5"});
  const Checkpoint averaged = open_checkpoint(in("averaged"));
  ASSERT_NE(model_tensor(averaged, "output.weight"), "output.weight");
  ASSERT_NE(tensor(in("averaged"), model_tensor(averaged, "output.weight")),
            tensor(in("averaged"), "output.weight"));
  expect_rows(in("averaged"), {"text.alphabet=xdcba"}, {0, kNewRow, 4, 3, 2, 1});
}

/// The rows that pieces by name give, whatever the vocabulary computes.
std::vector<int> rows_by_name(const std::vector<std::string>& pieces,
                              const std::vector<std::string>& before) {
  std::vector<int> rows = {0};
  for (const std::string& piece : pieces) {
    const auto found = std::ranges::find(before, piece);
    rows.push_back(found == before.end() ? kNewRow : 1 + static_cast<int>(found - before.begin()));
  }
  return rows;
}

std::vector<std::string> pieces_in(const std::string& file) {
  configs::TextConfig text;
  text.model = file;
  return SentencePieces(text).pieces();
}

TEST_F(HeadStart, KeepsTheRowsOfSharedPieces) {
  const Overrides few = pieces_of("few.model", {"abab cdcd", "ab cd dada"}, {9, "bpe"});
  const Overrides more = pieces_of("more.model", {"abca bcd", "ab da cb", "dada"}, {12, "bpe"});
  run("pieces", with(few, {"trainer.init="}));
  std::filesystem::remove(in("few.model"));  // the checkpoint has its copy
  const std::vector<int> sources = rows_by_name(
      pieces_in(in("more.model")), pieces_in(open_checkpoint(in("pieces")).tokenizer_file()));
  const auto anew = std::ranges::count(sources, kNewRow);
  ASSERT_GT(anew, 0);
  ASSERT_LT(anew, std::ssize(sources) - 5);  // <unk>, the space and letters are shared
  expect_rows(in("pieces"), more, sources);
}

// A run with pieces starts from a checkpoint with characters, and the other way round.
TEST_F(HeadStart, ComparesCharactersWithPieces) {
  const Overrides chosen = pieces_of("some.model", {"abab cdcd", "ab cd dada"}, {9, "bpe"});
  const std::vector<std::string> pieces = pieces_in(in("some.model"));
  const std::vector<std::string> letters = {"▁", "a", "b", "c", "d"};
  run("characters", {"trainer.init=", "text.alphabet= abcd"});
  expect_rows(in("characters"), chosen, rows_by_name(pieces, letters));
  run("pieces", with(chosen, {"trainer.init="}));
  expect_rows(in("pieces"), {"text.alphabet= abcd"}, rows_by_name(letters, pieces));
}

TEST_F(HeadStart, RunsResumeToTheBit) {
  const Overrides other = by_rows({"text.alphabet=dxcba", "trainer.resume=true"});
  run("through", with(other, {"trainer.steps=4"}));
  run("parts", other);
  std::filesystem::remove_all(in("source"));  // the run has what it needs
  run("parts", with(other, {"trainer.steps=4"}));
  const Checkpoint through = open_checkpoint(in("through"));
  for (const auto& [name, stored] : through.tensors())
    EXPECT_EQ(tensor(in("parts"), name), tensor(in("through"), name)) << name;
}

TEST_F(HeadStart, RefusesVocabulariesThatShareNothing) {
  expect_parts(
      refusal(by_rows({"text.alphabet=xyz"})),
      {"the recipe's 4 labels (the blank, 'x', 'y', 'z') have only the blank in common with the "
       "5 labels of " +
           in("source") + " (the blank, 'a', 'b', 'c', 'd')",
       "\n  trainer.init_head=new\n", "\n  penstock info " + in("source") + " --recipe"});
  EXPECT_TRUE(list_checkpoints(in("refused")).empty());
}

TEST_F(HeadStart, FrozenHeadsNeedEveryRow) {
  const Overrides frozen = by_rows({"optimizer.freeze=[output.w*]"});
  expect_parts(refusal(with(frozen, {"text.alphabet=abcdxy"})),
               {"2 of the 7 rows of output.weight would start anew", "optimizer.freeze"});
  run("kept", with(frozen, {"text.alphabet=dcba"}));
  const auto found = rows(in("kept"), "output.weight"),
             before = rows(in("source"), "output.weight");
  for (std::size_t row = 0; row < found.size(); ++row)
    EXPECT_EQ(found[row], before[(before.size() - row) % before.size()]) << row;
}

TEST_F(HeadStart, KeepsRowsBesideAdapters) {
  const Overrides adapted = {"lora.rank=2", "lora.targets=[rnn1.input]", "lora.train=[output.*]"};
  expect_rows(in("source"), with(adapted, {"text.alphabet=daéxbc"}),
              {0, 4, 1, kNewRow, kNewRow, 2, 3});
  EXPECT_TRUE(noted("2 start anew: 'é', 'x'; 2 parameters of LoRA start anew")) << notes_;
  EXPECT_TRUE(as_in_source(in("kept1"), "rnn1.input.weight"));
  const std::string a = "rnn1.input.lora_A.weight";
  EXPECT_EQ(tensor(in("kept1"), a), tensor(in("kept1-random"), a));
  expect_rows(in("kept1"), with(adapted, {"text.alphabet=xdcbaz"}), {0, 4, 1, 6, 5, 2, kNewRow});
  EXPECT_FALSE(noted("LoRA")) << notes_;
  EXPECT_EQ(tensor(in("kept2"), a), tensor(in("kept1"), a));
}

TEST_F(HeadStart, SameLabelsLeaveNewAdaptersToTheRun) {
  expect_rows(in("source"), {"lora.rank=5", "lora.targets=[output]"}, {0, 1, 2, 3, 4});
  EXPECT_TRUE(noted("(step 2); 2 parameters of LoRA start anew\n")) << notes_;
}

// A of the adapter has as many rows as there are labels, but they are none of theirs.
TEST_F(HeadStart, AdaptersOfHeadsFollowTheirRows) {
  const Overrides adapted = by_rows({"lora.rank=5", "lora.targets=[output]"});
  run("adapted", with(adapted, {"text.alphabet=dcba", "optimizer.learning_rate=0.01"}));
  EXPECT_TRUE(noted("output keeps its 5 rows")) << notes_;
  start("again", with(adapted, {"trainer.init=" + in("adapted")}));
  EXPECT_FALSE(noted("LoRA")) << notes_;
  EXPECT_EQ(tensor(in("again"), "output.weight"), tensor(in("source"), "output.weight"));
  const std::string a = "output.lora_A.weight", b = "output.lora_B.weight";
  EXPECT_EQ(tensor(in("again"), a), tensor(in("adapted"), a));
  const auto found = rows(in("again"), b), before = rows(in("adapted"), b);
  EXPECT_NE(before[1], before[4]);
  for (std::size_t row = 0; row < found.size(); ++row)
    EXPECT_EQ(found[row], before[(before.size() - row) % before.size()]) << row;
}

TEST_F(HeadStart, AdaptedHeadsNeedEveryRow) {
  expect_parts(
      refusal(by_rows({"text.alphabet=abcdxy", "lora.rank=2", "lora.targets=[output]"})),
      {"2 of the 7 rows of output.weight would start anew, with random weights, but the head "
       "stays frozen: leave the head out of optimizer.freeze and of lora.targets",
       "add \"output.*\" to lora.train, or train with labels that the checkpoint has"});
}

TEST_F(HeadStart, FrozenHalvesKeepRoundedRows) {
  const Overrides frozen = {"precision.compute=bf16", "optimizer.freeze=[output.*, rnn2.*]"};
  start("rounded", frozen);
  start("permuted", by_rows(with(frozen, {"text.alphabet=dcba"})));
  const Checkpoint permuted = open_checkpoint(in("permuted"));
  EXPECT_EQ(permuted.tensor("output.weight").dtype, layers::DType::bf16);
  const auto found = rows(in("permuted"), "output.weight"),
             before = rows(in("rounded"), "output.weight");
  EXPECT_NE(before, rows(in("source"), "output.weight"));
  for (std::size_t row = 0; row < found.size(); ++row)
    EXPECT_EQ(found[row], before[(before.size() - row) % before.size()]) << row;
}

TEST_F(HeadStart, RowsOfOtherLengthAreRefused) {
  expect_parts(refusal(by_rows({"text.alphabet=abcdx", "model.hidden=13"})),
               {"'output.weight' is f32[5, 12], but the model expects f32[6, 13]",
                "'rnn1.weight' is f32[", "trainer.init_head = pieces keeps rows of equal length"});
  // Other tensors are the checkpoint's fault, as with another head.
  expect_parts(fault(by_rows({"text.alphabet=abcdx", "model.layers=3"})),
               {"'rnn3.weight', f32[", "is missing"});
}

TEST_F(HeadStart, RowsAreThoseOfTheOutputs) {
  const configs::Config config;
  const auto tokenizer = make_tokenizer(config.text);
  layers::ParamDecl gates;
  gates.name = "output.weight";
  gates.shape = {4 * 29, 12};
  const Head recurrent{{"output"}, {gates}};
  EXPECT_EQ(test::message_of<ConfigError>([&] {
              (void)find_kept_rows(config, *tokenizer, recurrent, open_checkpoint(in("source")));
            }),
            "trainer.init_head = pieces keeps rows of a head that has one for each of its 29 "
            "outputs, but 'output.weight' is [116, 12]: use trainer.init_head = auto, keep or new");
}

TEST_F(HeadStart, CheckpointsWithFewerRowsThanLabelsAreBroken) {
  const auto file = open_checkpoint(in("source")).folder() / kManifestFile;
  Manifest manifest = parse_manifest(test::read_file(file));
  manifest.state.config["text.alphabet"] = "abcdefgh";
  test::write_file(file, to_text(manifest));
  expect_parts(fault(by_rows({})), {"'output.weight' has 5 rows, but", "9 labels"});
}

}  // namespace
}  // namespace penstock::runtime
