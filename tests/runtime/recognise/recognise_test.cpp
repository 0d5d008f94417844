#include "runtime/recognise/recognise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/losses/ctc.h"
#include "partition/layout/build_model.h"
#include "tests/support/runtime/tone_checkpoint.h"
#include "tests/support/runtime/tone_corpus.h"

namespace penstock::runtime {
namespace {

class Recognise : public testing::Test {
 protected:
  std::string refusal(const test::RecognitionLayout& layout) const {
    return test::message_of<ConfigError>([&] { checkpoint_.transcribe(list(), layout); });
  }
  std::vector<Recording> list() const {
    return {{checkpoint_.in("test-0.wav")}, {checkpoint_.in("test-1.wav")}};
  }

  test::ToneCheckpoint checkpoint_;
};

TEST_F(Recognise, OneStagePerLayerFindsTheSameTexts) {
  const configs::Config config =
      configs::parse_config(test::tone_recipe("none", "", "none"), "", layers::model_families());
  const auto layers = static_cast<int>(partition::build_model(config.model, 29).layers.size());
  EXPECT_EQ(checkpoint_.transcribe(list(), {layers, 1}).texts(),
            checkpoint_.transcribe(list()).texts());
  const std::string one = refusal({layers + 1, 1}), two = refusal({2 * layers + 2, 2});
  EXPECT_NE(one.find(fmt::format("mpirun -np {} or fewer", layers)), std::string::npos) << one;
  EXPECT_NE(two.find(fmt::format("mpirun -np {} or fewer", 2 * layers)), std::string::npos) << two;
  EXPECT_NE(two.find("for each of 2 replicas"), std::string::npos) << two;
}

TEST_F(Recognise, ReplicasMustDivideTheRanks) {
  const std::string said = refusal({3, 2});
  EXPECT_NE(said.find("the job has 3 ranks, which 2 replicas can't share equally"),
            std::string::npos)
      << said;
  EXPECT_NE(refusal({1, 2}), "");
}

TEST_F(Recognise, IdentityFollowsCheckpointAndPrecision) {
  const test::ToneCheckpoint other({"trainer.steps=1", "trainer.seed=2"});
  const auto identity = [](const std::string& checkpoint, const std::string& compute) {
    std::string found;
    comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
      Trained trained{checkpoint};
      trained.compute = compute;
      found = Recogniser(trained, world, Scoring::none).identity();
    });
    return found;
  };
  const std::string own = identity(checkpoint_.in("output"), "");
  EXPECT_EQ(identity(checkpoint_.in("output"), "fp32"), own);
  EXPECT_NE(identity(checkpoint_.in("output"), "bf16"), own);
  EXPECT_NE(identity(other.in("output"), ""), own);
}

/// The texts that one decoder of a checkpoint finds.
struct Found {
  std::vector<std::string> texts;
  std::vector<Recognised> utterances;
  std::vector<std::string> of_columns;  // what CTC makes of the columns after the joint network's
  EvaluationReport report;
  std::vector<std::string> of_beam;  // and its beam search
  double loss = 0;
  std::string identity;
};

/// How the texts of a checkpoint are found.
struct Finding {
  std::string decoder = {};
  layers::DecodingOptions decoding = {};
  std::int64_t joint = 0;  // columns of the logits before those of CTC
  bool with_texts = true;  // the corpus has texts
};

Found find_texts(const test::ToneCheckpoint& checkpoint, const Finding& how) {
  Found found;
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    Trained trained{checkpoint.in("output")};
    trained.decoder = how.decoder;
    trained.decoding = how.decoding;
    Recogniser recogniser(trained, world, Scoring::by_texts);
    Corpus corpus = load_corpus(corpus_options(recogniser.config(), recogniser.sequence(),
                                               checkpoint.in("test.jsonl"), CorpusUse::evaluation),
                                recogniser.tokenizer(), world, recogniser.readers());
    if (!how.with_texts) corpus.labels = nullptr;
    found.of_columns.resize(corpus.size());
    found.of_beam.resize(corpus.size());
    const auto search = CtcBeamDecoders(recogniser.tokenizer(), how.decoding.beam, {}).decoder();
    EvaluationOptions options;
    options.logits = [&](std::uint64_t id, std::span<const float> x_FC, std::int64_t channels) {
      std::vector<float> logits;
      for (std::int64_t at = 0; at < std::ssize(x_FC); at += channels)
        logits.insert(logits.end(), x_FC.begin() + at + how.joint, x_FC.begin() + at + channels);
      const std::int64_t classes = channels - how.joint;
      if (classes != recogniser.tokenizer().labels()) return;  // a transducer without CTC
      found.of_columns.at(id) =
          recogniser.tokenizer().decode(layers::ctc_greedy_labels(logits, classes, classes));
      found.of_beam.at(id) =
          recogniser.tokenizer().decode(search(logits, classes, classes).front().labels);
    };
    const Evaluation evaluation = recogniser.evaluate(corpus, options);
    for (const Recognised& one : evaluation.utterances) found.texts.push_back(one.text);
    found.utterances = evaluation.utterances;
    found.report = evaluation.report;
    found.loss = evaluation.report.loss;
    found.identity = recogniser.identity();
  });
  return found;
}

// Alternatives decode the same logits, on any ranks, and count as if they decoded alone.
TEST_F(Recognise, CountsErrorsOfAlternatives) {
  const test::ToneCheckpoint trained({"trainer.steps=3"});
  const auto count = [&](const test::RecognitionLayout& layout, int beam) {
    Evaluation evaluation;
    comm::run_as_threads({.ranks = layout.ranks}, [&](comm::Communicator& world) {
      Trained how{trained.in("output")};
      how.replicas = layout.replicas;
      how.decoding.beam = beam;
      Recogniser recogniser(how, world, Scoring::by_texts);
      const Corpus corpus =
          load_corpus(corpus_options(recogniser.config(), recogniser.sequence(),
                                     trained.in("test.jsonl"), CorpusUse::evaluation),
                      recogniser.tokenizer(), world, recogniser.readers());
      EvaluationOptions options;
      for (const int other : {2, 5})
        options.alternatives.push_back(
            CtcBeamDecoders(recogniser.tokenizer(), other, {.label_floor = -30}).decoder());
      const Evaluation own = recogniser.evaluate(corpus, options);
      if (world.rank() == 0) evaluation = own;
    });
    return evaluation;
  };
  const auto sum = [](const Evaluation& evaluation, std::size_t alternative) {
    ErrorCount errors;
    for (const Recognised& one : evaluation.utterances) errors += one.alternatives.at(alternative);
    return errors;
  };
  const Evaluation alone = count({1, 1}, 1);
  for (const test::RecognitionLayout& layout : test::kRecognitionLayouts)
    for (const std::size_t alternative : {0, 1})
      EXPECT_EQ(sum(count(layout, 1), alternative), sum(alone, alternative));
  EXPECT_EQ(sum(alone, 0).words.reference, alone.report.words);
  EXPECT_NE(sum(alone, 0), sum(alone, 1));
}

/// An RNN-T that is trained beside CTC.
class RecogniseBesideCtc : public testing::Test {
 protected:
  Found find(const std::string& decoder, int beam = 1) const {
    return find_texts(checkpoint_, {.decoder = decoder, .decoding = {.beam = beam}, .joint = 7});
  }

  test::ToneCheckpoint checkpoint_{{"trainer.steps=2", "model.decoder=rnnt", "decoder.width=5",
                                    "decoder.joint=7", "decoder.ctc_weight=0.6"}};
};

TEST_F(RecogniseBesideCtc, DecodesByTheDecoderThatIsNamed) {
  const Found own = find(""), ctc = find("ctc");
  EXPECT_EQ(ctc.texts, ctc.of_columns);
  EXPECT_NE(own.texts, own.of_columns);
  EXPECT_EQ(find("rnnt").texts, own.texts);
  EXPECT_GT(own.loss, 0);
  EXPECT_EQ(ctc.loss, own.loss);  // that of both
  EXPECT_NE(ctc.identity, own.identity);
}

TEST_F(RecogniseBesideCtc, SearchesByTheDecoderThatIsNamed) {
  const Found own = find(""), beam = find("", 3), ctc = find("ctc", 3);
  EXPECT_EQ(beam.texts.size(), own.texts.size());
  EXPECT_NE(beam.identity, own.identity);
  EXPECT_EQ(ctc.texts, ctc.of_beam);
  EXPECT_NE(ctc.texts, ctc.of_columns);
  EXPECT_NE(ctc.texts, beam.texts);
  EXPECT_NE(ctc.identity, beam.identity);
}

TEST_F(RecogniseBesideCtc, RefusesADecoderThatItLacks) {
  const auto fault = [&](const std::string& checkpoint, const std::string& decoder) {
    return test::message_of<ConfigError>([&] {
      comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
        Trained trained{checkpoint};
        trained.decoder = decoder;
        Recogniser(trained, world, Scoring::none);
      });
    });
  };
  const std::string both = checkpoint_.in("output");
  EXPECT_EQ(fault(both, "tdt"),
            both +
                ": its model has no decoder tdt: it decodes by rnnt (model.decoder), or by ctc "
                "(decoder.ctc_weight). Leave out --decoder");
  const test::ToneCheckpoint alone(
      {"trainer.steps=1", "model.decoder=rnnt", "decoder.width=5", "decoder.joint=7"});
  EXPECT_NE(fault(alone.in("output"), "ctc").find("decoder.ctc_weight trained no CTC beside it"),
            std::string::npos);
}

// Its layers read labels, of which a corpus without texts has none.
TEST(RecogniseByAttention, DecodesByTextsOrByCtc) {
  const test::ToneCheckpoint checkpoint({"trainer.steps=2", "model.decoder=attention",
                                         "decoder.width=8", "decoder.heads=2", "decoder.inner=6",
                                         "decoder.ctc_weight=0.6"});
  const Found own = find_texts(checkpoint, {}), ctc = find_texts(checkpoint, {.decoder = "ctc"});
  EXPECT_EQ(ctc.texts, ctc.of_columns);
  EXPECT_NE(own.texts, ctc.texts);
  EXPECT_GT(own.loss, 0);
  EXPECT_EQ(ctc.loss, own.loss);  // that of both
  for (const char* decoder : {"", "ctc"}) {
    const Found unlabelled = find_texts(checkpoint, {.decoder = decoder, .with_texts = false});
    EXPECT_EQ(unlabelled.texts, *decoder == 0 ? own.texts : ctc.texts) << decoder;
  }
}

/// Returns the error of a decoding that is refused.
std::string refusal(const test::ToneCheckpoint& checkpoint, const std::string& decoder,
                    const layers::DecodingOptions& decoding) {
  return test::message_of<ConfigError>(
      [&] { (void)find_texts(checkpoint, {.decoder = decoder, .decoding = decoding}); });
}

TEST(RecogniseByAttention, SearchesTogetherWithCtc) {
  const test::ToneCheckpoint checkpoint({"trainer.steps=12", "model.decoder=attention",
                                         "decoder.width=8", "decoder.heads=2", "decoder.inner=6",
                                         "decoder.ctc_weight=0.4"});
  const auto found = [&](const layers::DecodingOptions& decoding) {
    return find_texts(checkpoint, {.decoding = decoding});
  };
  const Found greedy = found({}), both = found({.beam = 4}),
              alone = found({.beam = 4, .ctc_weight = 0}),
              named = found({.beam = 4, .length_penalty = 1, .ctc_weight = 0.4});
  EXPECT_NE(both.texts, greedy.texts);
  EXPECT_NE(both.texts, alone.texts);
  EXPECT_EQ(both.texts, named.texts);
  EXPECT_EQ(both.loss, greedy.loss);
  EXPECT_NE(both.identity, greedy.identity);
  EXPECT_NE(both.identity, alone.identity);
  EXPECT_EQ(both.identity, named.identity);
  EXPECT_NE(both.identity, found({.beam = 4, .length_penalty = 0}).identity);
  const Found ctc = find_texts(checkpoint, {.decoder = "ctc", .decoding = {.beam = 4}});
  EXPECT_EQ(ctc.texts, ctc.of_beam);
  EXPECT_NE(ctc.texts, both.texts);
}

/// Compares a list of the best texts with one text of the same search.
void expect_nbest(const test::ToneCheckpoint& checkpoint) {
  const Found greedy = find_texts(checkpoint, {}),
              one = find_texts(checkpoint, {.decoding = {.beam = 4}}),
              three = find_texts(checkpoint, {.decoding = {.beam = 4, .nbest = 3}});
  EXPECT_EQ(three.texts, one.texts);
  EXPECT_NE(three.identity, one.identity);
  std::int64_t oracle = 0, listed = 0;
  for (std::size_t u = 0; u < three.texts.size(); ++u) {
    EXPECT_FALSE(greedy.utterances[u].score);
    EXPECT_TRUE(one.utterances[u].nbest.empty());
    const Recognised& heard = three.utterances[u];
    ASSERT_TRUE(heard.score && !heard.nbest.empty());
    EXPECT_EQ(heard.score, one.utterances[u].score);
    EXPECT_LT(*heard.score, 0);
    EXPECT_EQ(heard.nbest.front(), (ScoredText{heard.text, *heard.score}));
    EXPECT_LE(heard.nbest.size(), 3u);
    EXPECT_TRUE(std::ranges::is_sorted(heard.nbest, std::greater(), &ScoredText::score));
    EXPECT_LE(heard.oracle_word_edits, heard.errors.words.edits);
    oracle += heard.oracle_word_edits;
    listed += std::ssize(heard.nbest);
  }
  EXPECT_GT(listed, std::ssize(three.texts));
  EXPECT_EQ(three.report.oracle_word_edits, oracle);
  EXPECT_EQ(one.report.oracle_word_edits, one.report.word_edits);
}

TEST(RecogniseNBest, ListsTextsOfEveryBeamSearch) {
  for (const std::string decoder : {"ctc", "rnnt", "tdt", "lm", "attention"}) {
    SCOPED_TRACE(decoder);
    std::vector<std::string> recipe = {"trainer.steps=2", "model.decoder=" + decoder};
    if (decoder == "lm" || decoder == "attention")
      recipe.insert(recipe.end(), {"decoder.width=8", "decoder.heads=2", "decoder.inner=6"});
    else if (decoder != "ctc")
      recipe.insert(recipe.end(), {"decoder.width=8", "decoder.joint=7"});
    expect_nbest(test::ToneCheckpoint(recipe));
  }
}

TEST(RecogniseByAttention, WritesNoSuppressedLabels) {
  const std::vector<std::string> recipe = {"trainer.steps=2", "model.decoder=attention",
                                           "decoder.width=8", "decoder.heads=2", "decoder.inner=6"};
  const Found free = find_texts(test::ToneCheckpoint(recipe), {});
  ASSERT_FALSE(free.texts.front().empty());
  std::vector<std::string> without = recipe;
  without.push_back("decoder.suppress=[1, 2, 3, 4]");
  const Found suppressed = find_texts(test::ToneCheckpoint(without), {});
  EXPECT_NE(suppressed.texts, free.texts);
  EXPECT_EQ(suppressed.loss, free.loss);  // it is trained and scored alike
}

TEST(RecogniseByAttention, RefusesScoresThatItLacks) {
  const test::ToneCheckpoint attention({"trainer.steps=1", "model.decoder=attention",
                                        "decoder.width=8", "decoder.heads=2", "decoder.inner=6"});
  const test::ToneCheckpoint ctc({"trainer.steps=1"});
  const auto expect = [](const std::string& said, const std::string& wanted) {
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
  };
  expect(refusal(attention, "", {.length_penalty = 0.5}),
         "greedy decoding compares no texts: leave out --length-penalty, or give --beam 2 or more");
  expect(refusal(attention, "", {.beam = 2, .ctc_weight = 0.5}),
         "decoder.ctc_weight trained no CTC beside its decoder attention: leave out --ctc-weight");
  expect(refusal(attention, "", {.nbest = 3}),
         "greedy decoding finds one text, without a score: leave out --nbest, or give --beam 3");
  expect(refusal(attention, "", {.beam = 2, .nbest = 3}),
         "--nbest 3 asks for more texts than --beam 2 keeps: give --beam 3, or fewer texts");
  expect(refusal(ctc, "", {.ctc_weight = 0.5}),
         "its decoder is ctc, which writes no texts: leave out --ctc-weight");
}

}  // namespace
}  // namespace penstock::runtime
