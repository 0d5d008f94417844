#include "runtime/recognise/evaluate_manifests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/text/error_rate.h"
#include "tests/support/runtime/tone_checkpoint.h"
#include "tests/support/runtime/tone_corpus.h"

namespace penstock::runtime {
namespace {

/// Holds what rank 0 saw of an evaluation.
struct Seen {
  EvaluationTotals totals;
  std::vector<JudgedUtterance> judged;
  std::vector<EvaluationTotals> states;  // after each window
  std::string identity;
};

class EvaluateManifests : public testing::Test {
 protected:
  EvaluateManifests() { test::write_tone_corpus(in("more.jsonl"), 5, 3); }
  std::string in(const std::string& name) const { return checkpoint_.in(name); }

  Seen evaluate(const TestSet& test, const test::RecognitionLayout& layout = {},
                std::optional<EvaluationTotals> from = {}) const {
    Seen seen;
    EvaluationObserver observer;
    observer.begin = [&](const std::string& identity) {
      seen.identity = identity;
      return from;
    };
    observer.take = [&](std::span<const JudgedUtterance> judged, const EvaluationTotals& totals) {
      seen.judged.insert(seen.judged.end(), judged.begin(), judged.end());
      seen.states.push_back(totals);
    };
    Trained trained{in("output")};
    trained.replicas = layout.replicas;
    comm::run_as_threads({.ranks = layout.ranks}, [&](comm::Communicator& world) {
      const EvaluationTotals totals = evaluate_checkpoint(trained, test, world, observer);
      if (world.rank() == 0) seen.totals = totals;
    });
    return seen;
  }

  /// Gives line u of a manifest the speaker of its place; "": none.
  void name_speakers(const std::string& manifest, const std::vector<std::string>& speakers) const {
    std::istringstream lines(test::read_file(in(manifest)));
    std::string named;
    std::size_t u = 0;
    for (std::string line; std::getline(lines, line); ++u) {
      const std::string& speaker = speakers.at(u);
      line.pop_back();
      named += line + (speaker.empty() ? "" : ", \"speaker\": " + speaker) + "}\n";
    }
    test::write_file(in(manifest), named);
  }

  test::ToneCheckpoint checkpoint_{{"trainer.steps=3", "data.failing_utterances=0.3"}};
};

TEST_F(EvaluateManifests, EveryLayoutFindsTheSame) {
  name_speakers("test.jsonl", {"\"b\"", "\"a\"", "\"b\"", "", "7", "\"a\"", "null"});
  const TestSet test{{in("test.jsonl"), in("more.jsonl")}, false, {"speaker"}, {3}};
  const Seen alone = evaluate(test);
  const EvaluationReport report = report_of(sum_of(alone.totals));
  EXPECT_EQ(alone.totals.step, 3);
  EXPECT_EQ(report.utterances, 12);
  EXPECT_EQ(report.skipped, 0);
  EXPECT_GT(report.loss, 0);
  EXPECT_GT(report.characters, 24);  // two letters or more each
  EXPECT_EQ(alone.states.size(), 5u);
  for (const auto& layout : test::kRecognitionLayouts) {
    const Seen seen = evaluate(test, layout);
    EXPECT_TRUE(seen.totals == alone.totals) << layout.ranks << " ranks: to the bit of the loss";
    EXPECT_TRUE(seen.states == alone.states);
    EXPECT_EQ(seen.identity, alone.identity);
  }
}

// Counted again from the texts themselves.
TEST_F(EvaluateManifests, CountsByManifestAndValue) {
  const std::vector<std::string> speakers = {"\"b\"", "\"a\"", "\"b\"", "", "7", "\"a\"", "null"};
  name_speakers("test.jsonl", speakers);
  const Seen seen =
      evaluate({{in("more.jsonl"), in("test.jsonl")}, false, {"speaker"}, {2}}, {4, 2});
  ASSERT_EQ(seen.judged.size(), 12u);
  std::map<std::string, ErrorTally> by;
  std::vector<ErrorTally> manifests(2);
  const std::vector<std::string> values = {"b", "a", "b", "(none)", "7", "a", "(none)"};
  for (std::size_t i = 0; i < seen.judged.size(); ++i) {
    const JudgedUtterance& utterance = seen.judged[i];
    const std::size_t manifest = i < 5 ? 0 : 1;
    EXPECT_EQ(utterance.manifest, manifest);
    EXPECT_EQ(utterance.values[0], manifest == 0 ? "(none)" : values[i - 5]);
    EXPECT_EQ(utterance.source.audio.filename(),
              manifest == 0 ? fmt::format("more-{}.wav", i) : fmt::format("test-{}.wav", i - 5));
    const Recognised& r = utterance.recognised;
    EXPECT_GE(r.reference.size(), 2u);
    for (ErrorTally* tally : {&by[utterance.values[0]], &manifests[manifest]}) {
      ++tally->utterances;
      const ErrorCount errors = count_errors(r.reference, r.text);
      tally->errors += errors;
      tally->oracle_word_edits += errors.words.edits;  // a greedy text is the only one
    }
  }
  ASSERT_EQ(seen.totals.by.size(), 1u);
  EXPECT_TRUE(seen.totals.by[0] == by);
  for (std::size_t m = 0; m < 2; ++m) {
    EXPECT_TRUE(seen.totals.manifests[m].errors == manifests[m].errors);
    EXPECT_EQ(seen.totals.manifests[m].utterances, manifests[m].utterances);
  }
}

TEST_F(EvaluateManifests, GoesOnWhereItEnded) {
  const TestSet test{{in("more.jsonl"), in("test.jsonl")}, false, {"text"}, {2}};
  const Seen whole = evaluate(test);
  ASSERT_EQ(whole.states.size(), 7u);
  std::size_t done = 0;
  for (const EvaluationTotals& state : whole.states) {
    const Seen rest = evaluate(test, {2, 2}, parse_totals(to_text(state)));
    EXPECT_TRUE(rest.totals == whole.totals);
    done = static_cast<std::size_t>(state.done[0] + state.done[1]);
    EXPECT_EQ(rest.judged.size(), 12 - done);
    EXPECT_EQ(rest.identity, whole.identity);
  }
  EXPECT_EQ(done, 12u);
  EXPECT_NE(evaluate({{in("more.jsonl")}, false, {"text"}}).identity, whole.identity);
}

TEST_F(EvaluateManifests, OneWindowIsThePassOfATraining) {
  const Seen seen = evaluate({{in("test.jsonl")}});
  EXPECT_EQ(seen.states.size(), 1u);
  EXPECT_EQ(seen.totals.manifests[0].utterances, 7);
  EXPECT_NEAR(seen.totals.manifests[0].loss,
              evaluate({{in("test.jsonl")}, false, {}, {1}}).totals.manifests[0].loss, 1e-3);
}

TEST_F(EvaluateManifests, SkipsWhatItCannotUseOnlyIfAsked) {
  test::write_file(in("test.jsonl"), test::read_file(in("test.jsonl")) + "nonsense\n");
  const std::string message = test::message_of<DataError>([&] { evaluate({{in("test.jsonl")}}); });
  EXPECT_NE(message.find("--skip-bad"), std::string::npos) << message;
  const ErrorTally tally =
      evaluate({{in("test.jsonl")}, true, {"text"}, {2}}, {4, 2}).totals.manifests[0];
  EXPECT_EQ(tally.utterances, 7);
  EXPECT_EQ(tally.skipped, 1);
}

// They were there when the manifest was indexed; the limit is 0.3 of a manifest.
TEST_F(EvaluateManifests, CountsFailuresOverAllWindows) {
  const TestSet test{{in("test.jsonl")}, false, {"text"}, {2}};
  (void)evaluate(test);
  for (const char* name : {"test-1.wav", "test-5.wav"}) std::filesystem::remove(in(name));
  const Seen seen = evaluate(test, {4, 2});
  EXPECT_EQ(seen.totals.manifests[0].utterances, 5);
  EXPECT_EQ(seen.totals.manifests[0].skipped, 2);
  EXPECT_NE(seen.judged[5].recognised.fault.find("test-5.wav: no such file"), std::string::npos);
  std::filesystem::remove(in("test-6.wav"));
  const std::string message = test::message_of<DataError>([&] { evaluate(test, {4, 2}); });
  for (const char* part : {"3 utterances could not be read", "utterance 1: ", "test-1.wav",
                           "utterance 5: ", "utterance 6: ", "is 0.3 of 7"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(EvaluateManifests, RefusesWhatCannotBeMeant) {
  const auto config = [&](const TestSet& test) {
    return test::message_of<ConfigError>([&] { evaluate(test); });
  };
  EXPECT_NE(config({{""}}).find("manifest's name is empty"), std::string::npos);
  EXPECT_NE(config({{in("test.jsonl"), in("test.jsonl")}}).find("named twice"), std::string::npos);
  EXPECT_NE(config({{in("test.jsonl")}, false, {"text", "text"}}).find("--by text is given twice"),
            std::string::npos);
  const std::string missing = test::message_of<DataError>([&] {
    evaluate({{in("test.jsonl")}, false, {"text", "dialect"}}, {2, 2});
  });
  EXPECT_NE(missing.find("--by dialect: no line of "), std::string::npos) << missing;
  EXPECT_NE(missing.find("lines have audio_filepath"), std::string::npos) << missing;
}

TEST_F(EvaluateManifests, MakesNoFolderForTheIndex) {
  std::filesystem::rename(in("output"), in("moved"));
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(evaluate_checkpoint({in("moved")}, {{in("test.jsonl")}}, world).done[0], 7);
  });
  EXPECT_FALSE(std::filesystem::exists(in("output")));
  EXPECT_FALSE(std::filesystem::exists(in("test.jsonl.index")));
}

}  // namespace
}  // namespace penstock::runtime
