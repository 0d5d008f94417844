#include "runtime/corpus/corpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/text/alphabet.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class CorpusTest : public testing::Test {
 protected:
  CorpusTest() {
    options_.manifest = in("train.jsonl");
    options_.features.sample_rate = 8000;
    options_.output_frames = [](std::int64_t frames) { return (frames + 1) / 2; };
    // 0.1 s make 11 frames, 6 at the loss; at speed 1.2, 9 and 5.
    add(800, "abcdef");
    add(4001, "hello");
    add(80000, "long");
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  void add(std::int64_t samples, const std::string& text) {
    const std::string name = fmt::format("{}.wav", samples);
    test::write_sound(in(name), test::make_sound(samples), {0x010002, 8000});
    add_line(R"({"audio_filepath": ")" + name + R"(", "text": ")" + text + "\"}");
  }
  void add_line(const std::string& line) {
    lines_ += line + "\n";
    test::write_file(options_.manifest, lines_);
  }

  Corpus load() const { return load_corpus(options_, Alphabet(configs::TextConfig{})); }
  void expect_refused(std::initializer_list<const char*> parts) const {
    const std::string message = test::message_of<DataError>([&] { load(); });
    for (const char* part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }

  test::TemporaryFolder folder_;
  CorpusOptions options_;
  std::string lines_;
};

TEST_F(CorpusTest, HasLengthsLabelsAndFrames) {
  const Corpus corpus = load();
  ASSERT_EQ(corpus.entries.size(), 3u);
  EXPECT_EQ(corpus.entries[1].text, "hello");
  EXPECT_EQ(corpus.lengths[1], (AudioLength{4001, 8000}));
  EXPECT_EQ(corpus.labels[1], Alphabet(configs::TextConfig{}).encode("hello"));
  EXPECT_EQ(corpus.frames, (std::vector<std::int64_t>{11, 51, 1001}));
  EXPECT_DOUBLE_EQ(corpus.seconds(), 84801 / 8000.0);
}

TEST_F(CorpusTest, LeavesOutByLengthInTrainingAlone) {
  options_.data.min_seconds = 0.2;
  options_.data.max_seconds = 9.9;
  const Corpus corpus = load();
  ASSERT_EQ(corpus.entries.size(), 1u);
  EXPECT_EQ(corpus.entries[0].text, "hello");
  EXPECT_EQ(corpus.labels[0].size(), 5u);
  EXPECT_EQ(corpus.too_short, 1);
  EXPECT_EQ(corpus.too_long, 1);
  options_.use = CorpusUse::evaluation;
  EXPECT_EQ(load().entries.size(), 3u);
}

TEST_F(CorpusTest, RejectsLabelsTooLongAtTheFastestSpeed) {
  options_.data.speeds = {1, 1.2};
  expect_refused({"1 utterance of", "train.jsonl:1: its text of 6 labels needs 6 frames",
                  "make 5 at speed 1.2", "data.bad_utterances"});
  options_.use = CorpusUse::evaluation;
  EXPECT_EQ(load().entries.size(), 3u);
}

TEST_F(CorpusTest, LeavesOutTheTooShortWhateverTheirLabels) {
  add(799, "far too many letters for a tenth of a second");
  expect_refused({"train.jsonl:4: its text of 44 labels"});
  options_.data.min_seconds = 0.2;
  const Corpus corpus = load();
  EXPECT_EQ(corpus.entries.size(), 2u);
  EXPECT_EQ(corpus.too_short, 2);
  EXPECT_EQ(corpus.skipped, 0);
}

TEST_F(CorpusTest, RejectsAudioTooShortForTheModel) {
  options_.output_frames = [](std::int64_t frames) {
    if (frames < 12) throw ShapeError("it takes 12 frames at least");
    return frames;
  };
  expect_refused({"1 utterance of",
                  "train.jsonl:1: its 0.100000 s are too short for the model: it takes 12 frames "
                  "at least"});
}

TEST_F(CorpusTest, CountsABlankBetweenEqualLabels) {
  EXPECT_EQ(ctc_frames({}), 0);
  EXPECT_EQ(ctc_frames({1, 1, 1}), 5);
  EXPECT_EQ(ctc_frames({1, 2, 2, 1}), 5);
  add(801, "aabbc");
  expect_refused({"train.jsonl:4: its text of 5 labels needs 7 frames"});
}

TEST_F(CorpusTest, RejectsTextsAndAudioTogether) {
  add_line(R"({"audio_filepath": "800.wav", "text": "7 up"})");
  add_line("nonsense");
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  expect_refused({"3 utterances", "train.jsonl:4: ", "'7'", "train.jsonl:5: bad JSON",
                  "train.jsonl:6: ", "gone.wav: no such file"});
}

/// Of a job whose last rank reads texts and whose rank 1 reads audio, rank 0 tells all.
TEST_F(CorpusTest, HasRank0SayWhatOtherRanksFind) {
  add_line("nonsense");
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  std::vector<std::string> raised(3);
  EXPECT_THROW(
      comm::run_as_threads(
          {.ranks = 3},
          [&](comm::Communicator& world) {
            try {
              (void)load_corpus(options_, Alphabet(configs::TextConfig{}), world, {{2}, {1}});
            } catch (const DataError& error) {
              raised[world.rank()] = error.what();
              throw;
            }
          }),
      DataError);
  EXPECT_NE(raised[0].find("train.jsonl:4: bad JSON"), std::string::npos) << raised[0];
  EXPECT_NE(raised[0].find("gone.wav: no such file"), std::string::npos) << raised[0];
  EXPECT_EQ(raised[1] + raised[2], "");
}

TEST_F(CorpusTest, RejectsAudioThatCannotBeUsed) {
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  test::write_file(in("4001.wav"), "");
  expect_refused({"2 utterances", "train.jsonl:2: ", "4001.wav: empty",
                  "train.jsonl:4: ", "gone.wav: no such file"});
}

TEST_F(CorpusTest, SkipsAndCountsIfAsked) {
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  add_line(R"({"audio_filepath": "4001.wav", "text": "7"})");
  add_line("nonsense");
  options_.data.bad_utterances = "skip";
  const Corpus corpus = load();
  EXPECT_EQ(corpus.entries.size(), 3u);
  EXPECT_EQ(corpus.labels.size(), 3u);
  EXPECT_EQ(corpus.skipped, 3);
}

TEST_F(CorpusTest, RejectsAnEmptyCorpusAndUnknownPolicies) {
  options_.data.min_seconds = 100;
  expect_refused({"no utterances that can be used", "too short 3"});
  options_.data.bad_utterances = "ignore";
  EXPECT_THROW(load(), ConfigError);
}

/// A job of three: rank 2 has the loss, rank 0 the first stage.
TEST_F(CorpusTest, RanksReadOnlyTextsOrAudioTheyNeed) {
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  add_line(R"({"audio_filepath": "4001.wav", "text": "7"})");
  options_.data.bad_utterances = "skip";
  options_.data.max_seconds = 9.9;
  const Corpus whole = load();
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    CorpusOptions options = options_;
    if (world.rank() != 2) options.manifest += ".gone";  // never opened
    const Corpus corpus = load_corpus(options, Alphabet(configs::TextConfig{}), world, {{2}, {0}});
    ASSERT_EQ(corpus.entries.size(), 2u);
    EXPECT_EQ(corpus.entries[1].audio, whole.entries[1].audio);
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.frames, whole.frames);
    EXPECT_EQ(corpus.hash, whole.hash);
    EXPECT_EQ(corpus.skipped, 2);
    EXPECT_EQ(corpus.too_long, 1);
    EXPECT_EQ(corpus.entries[1].text, world.rank() == 2 ? "hello" : "");
    EXPECT_EQ(corpus.labels, world.rank() == 2 ? whole.labels : decltype(whole.labels){});
  });
}

TEST_F(CorpusTest, RanksLearnOfSegments) {
  add_line(R"({"audio_filepath": "80000.wav", "text": "up", "offset": 3.5, "duration": 1.25})");
  const Corpus whole = load();
  EXPECT_EQ(whole.first[3], 28000);
  EXPECT_EQ(whole.lengths[3], (AudioLength{10000, 8000}));
  EXPECT_EQ(whole.first[2], std::nullopt);
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Corpus corpus = load_corpus(options_, Alphabet(configs::TextConfig{}), world, {{2}, {0}});
    EXPECT_EQ(corpus.first, whole.first);
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.hash, whole.hash);
  });
  lines_.replace(lines_.find("3.5"), 3, "3.6");
  test::write_file(options_.manifest, lines_);
  EXPECT_NE(load().hash, whole.hash);
}

TEST_F(CorpusTest, ReadersMustFindTheSameTexts) {
  const std::string message = test::message_of<DataError>([&] {
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      configs::TextConfig text;
      if (world.rank() == 1) text.alphabet = "zyxwvutsrqponmlkjihgfedcba";
      (void)load_corpus(options_, Alphabet(text), world, {{0, 1}, {0}});
    });
  });
  EXPECT_NE(message.find("train.jsonl: texts that rank 1 finds differ"), std::string::npos)
      << message;
}

TEST_F(CorpusTest, HashFollowsContentNotPlace) {
  const std::uint64_t hash = load().hash;
  EXPECT_EQ(load().hash, hash);
  options_.manifest = in("moved.jsonl");
  test::write_file(options_.manifest, lines_);
  EXPECT_EQ(load().hash, hash);
  const std::string lines = lines_;
  lines_.replace(lines_.find("hello"), 5, "hullo");
  add_line("");
  EXPECT_NE(load().hash, hash);
  lines_ = lines;
  add_line("");
  EXPECT_EQ(load().hash, hash);
  test::write_sound(in("4001.wav"), test::make_sound(4002), {0x010002, 8000});
  EXPECT_NE(load().hash, hash);
}

}  // namespace
}  // namespace penstock::runtime
