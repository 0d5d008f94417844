#include "runtime/trainer/utterance_scorer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "layers/losses/ctc.h"
#include "runtime/text/alphabet.h"

namespace penstock::runtime {
namespace {

/// Two utterances of two frames, whose texts are "ab" and "b".
class UtteranceScorerTest : public testing::Test {
 protected:
  UtteranceScorerTest() {
    corpus_.lengths = {{800, 8000}, {1600, 8000}};
    corpus_.audio = [](std::uint64_t id) { return AudioSource{id == 0 ? "a.wav" : "b.wav", {}}; };
    corpus_.text = [](std::uint64_t id) { return std::string(id == 0 ? "ab" : "b"); };
    corpus_.labels = [this](std::uint64_t id) { return tokenizer_.encode(corpus_.text(id)); };
    options_.decoder = layers::ctc_greedy_decoder();
    options_.references = true;
  }

  static Alphabet make_alphabet() {
    configs::TextConfig text;
    text.alphabet = "ab";
    return Alphabet(text);
  }

  std::vector<Recognised> decoded() const {
    UtteranceScorer scorer(corpus_, tokenizer_, options_);
    const std::vector<std::uint64_t> ids = {0, 1};
    const std::vector<std::span<const float>> x_FC = {a_, b_};
    scorer.decode({ids, x_FC, 3});
    std::vector<Recognised> all;
    comm::run_as_threads({.ranks = 1},
                         [&](comm::Communicator& world) { all = scorer.told().gather(world, 2); });
    return all;
  }

  Alphabet tokenizer_ = make_alphabet();
  Corpus corpus_;
  EvaluationOptions options_;
  std::vector<float> a_ = {0, 9, 0, 0, 0, 9}, b_ = {0, 9, 0, 9, 0, 0};  // heard: "ab", "a"
};

TEST_F(UtteranceScorerTest, ComparesTextsWithReferences) {
  const auto all = decoded();
  EXPECT_EQ(all.at(0).text + all.at(1).text, "aba");
  EXPECT_EQ(all[1].reference, "b");
  EXPECT_EQ(all[0].errors.characters.edits, 0);
  EXPECT_EQ(all[1].errors.characters.edits, 1);
}

TEST_F(UtteranceScorerTest, CountsNoErrorsOfAlignments) {
  options_.times_references = true;
  const auto all = decoded();
  EXPECT_EQ(all.at(1).reference, "b");
  EXPECT_EQ(all[1].errors.characters.reference, 0);
}

TEST_F(UtteranceScorerTest, EndsWordsWithTheAudio) {
  std::vector<std::vector<std::int32_t>> timed;
  options_.threads = 1;
  options_.word_timer = [&](std::span<const float>, std::int64_t,
                            std::span<const std::int32_t> labels) {
    timed.emplace_back(labels.begin(), labels.end());
    return std::vector<TimedWord>{{"word", 0, 0.15, 1}};
  };
  auto all = decoded();
  EXPECT_EQ(all.at(0).words.at(0).end, 0.1);
  EXPECT_EQ(all.at(1).words.at(0).end, 0.15);
  EXPECT_EQ(timed.at(1), (std::vector<std::int32_t>{1}));  // as heard
  options_.times_references = true;
  (void)decoded();
  EXPECT_EQ(timed.at(3), (std::vector<std::int32_t>{2}));  // as given
}

TEST_F(UtteranceScorerTest, TellsTimesThatFail) {
  options_.word_timer = [](auto, auto, auto) -> std::vector<TimedWord> {
    throw DataError("no path");
  };
  EXPECT_EQ(decoded().at(1).fault, "b.wav: no path");
}

}  // namespace
}  // namespace penstock::runtime
