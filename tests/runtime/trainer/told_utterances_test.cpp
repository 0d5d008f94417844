#include "runtime/trainer/told_utterances.h"

#include <gtest/gtest.h>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

/// Everything that can be told of an utterance.
Recognised full(double number) {
  Recognised heard;
  heard.text = "a text";
  heard.reference = "another";
  heard.errors.words = {2, 3};
  heard.errors.characters = {4, 5};
  heard.score = -number;
  heard.nbest = {{"a text", -number}, {"", -2 * number}};
  heard.words = {{"a", number, 2 * number, 0.25}, {"text", 3, 4, 1}};
  heard.oracle_word_edits = 1;
  heard.alternatives.resize(2);
  heard.alternatives[1].words = {7, 8};
  return heard;
}

void expect_equal(const Recognised& found, const Recognised& expected) {
  EXPECT_EQ(found.text, expected.text);
  EXPECT_EQ(found.reference, expected.reference);
  EXPECT_EQ(found.errors, expected.errors);
  EXPECT_EQ(found.score, expected.score);
  EXPECT_EQ(found.nbest, expected.nbest);
  EXPECT_EQ(found.words, expected.words);
  EXPECT_EQ(found.oracle_word_edits, expected.oracle_word_edits);
  EXPECT_EQ(found.alternatives, expected.alternatives);
}

TEST(ToldUtterances, ComeToRankZeroById) {
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    ToldUtterances told;
    if (world.rank() == 1) told.tell(3, full(1.0 / 3));
    if (world.rank() == 2) {
      told.tell(0, {.text = "short"});
      told.tell(2, full(2));
    }
    if (world.rank() == 0) told.tell_failure({2, "it broke off"});
    const std::vector<Recognised> all = told.gather(world, 4);
    ASSERT_EQ(all.size(), world.rank() == 0 ? 4u : 0u);
    if (world.rank() != 0) return;
    EXPECT_EQ(all[0].text, "short");
    expect_equal(all[1], {});
    EXPECT_EQ(all[2].fault, "it broke off");
    expect_equal(all[3], full(1.0 / 3));
  });
}

TEST(ToldUtterances, AreCountedAlikeOnAllRanks) {
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    std::vector<Recognised> utterances;
    if (world.rank() == 0) utterances = {full(1), {.fault = "gone"}, full(2)};
    const auto report = count_together(world, utterances, {{"a.jsonl", 2}, {"b.jsonl", 1}});
    EXPECT_EQ(report.utterances, 2);
    EXPECT_EQ(report.word_edits, 4);
    EXPECT_EQ(report.words, 6);
    EXPECT_EQ(report.oracle_word_edits, 2);
    EXPECT_DOUBLE_EQ(report.cer, 0.8);
    ASSERT_EQ(report.parts.size(), 2u);
    EXPECT_EQ(report.parts[0].utterances, 1);
    EXPECT_DOUBLE_EQ(report.parts[1].wer, 2.0 / 3);
  });
}

}  // namespace
}  // namespace penstock::runtime
