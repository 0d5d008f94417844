#include "runtime/corpus/corpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "comm/threads.h"
#include "layers/losses/ctc.h"
#include "runtime/data/index/index.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/text/alphabet.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Counts texts that are encoded.
class CountingTokenizer : public Tokenizer {
 public:
  explicit CountingTokenizer(const Tokenizer& counted) : counted_(counted) {}
  int labels() const override { return counted_.labels(); }
  std::vector<Label> vocabulary() const override { return counted_.vocabulary(); }
  std::string normalised(std::string_view text) const override { return counted_.normalised(text); }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    ++encoded;
    return counted_.encode(text);
  }
  std::string decode(std::span<const std::int32_t> labels) const override {
    return counted_.decode(labels);
  }
  std::string_view model() const override { return counted_.model(); }

  mutable std::atomic<int> encoded = 0;

 private:
  const Tokenizer& counted_;
};

class CorpusTest : public testing::Test {
 protected:
  CorpusTest() {
    options_.manifest = in("train.jsonl");
    options_.cache.path = in("cache");
    options_.features.sample_rate = 8000;
    options_.loss = layers::ctc_loss();
    options_.output_frames = [](std::int64_t frames) { return (frames + 1) / 2; };
    // 0.1 s make 11 frames, 6 at the loss; at speed 1.2, 9 and 5.
    add(800, "abcdef");
    add(4001, "hello");
    add(80000, "long");
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  std::filesystem::path cached(const std::string& suffix) const {
    return cached_file(options_.cache, options_.manifest, suffix);
  }

  void add(std::int64_t samples, const std::string& text) {
    const std::string name = fmt::format("{}.wav", samples);
    test::write_sound(in(name), test::make_sound(samples), {0x010002, 8000});
    add_line(R"({"audio_filepath": ")" + name + R"(", "text": ")" + text + "\"}");
  }
  void add_line(const std::string& line) {
    lines_ += line + "\n";
    test::write_file(options_.manifest, lines_);
  }

  Corpus load() const { return load_corpus(options_, alphabet_); }
  void expect_refused(std::initializer_list<const char*> parts) const {
    const std::string message = test::message_of<DataError>([&] { load(); });
    for (const char* part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }

  test::TemporaryFolder folder_;
  Alphabet alphabet_{configs::TextConfig{}};
  CorpusOptions options_;
  std::string lines_;
};

TEST_F(CorpusTest, HasLengthsTextsAndLabels) {
  const Corpus corpus = load();
  ASSERT_EQ(corpus.size(), 3u);
  EXPECT_EQ(corpus.text(1), "hello");
  EXPECT_EQ(corpus.lengths, Lengths({{800, 8000}, {4001, 8000}, {80000, 8000}}));
  EXPECT_EQ(corpus.audio(1).audio, in("4001.wav"));
  EXPECT_EQ(corpus.audio(1).length, (AudioLength{4001, 8000}));
  EXPECT_EQ(corpus.labels(1), alphabet_.encode("hello"));
  EXPECT_EQ(corpus.most_labels, 6);
  EXPECT_DOUBLE_EQ(corpus.seconds(), 84801 / 8000.0);
  EXPECT_DOUBLE_EQ(corpus.labels_per_second(), corpus.all_labels / (84801 / 8000.0));
  EXPECT_EQ(static_cast<std::size_t>(corpus.all_labels),
            corpus.text(0).size() + corpus.text(1).size() + corpus.text(2).size());
}

TEST_F(CorpusTest, LeavesOutByLengthInTrainingAlone) {
  options_.data.min_seconds = 0.2;
  options_.data.max_seconds = 9.9;
  const Corpus corpus = load();
  ASSERT_EQ(corpus.size(), 1u);
  EXPECT_EQ(corpus.text(0), "hello");
  EXPECT_EQ(corpus.labels(0).size(), 5u);
  EXPECT_EQ(corpus.too_short, 1);
  EXPECT_EQ(corpus.too_long, 1);
  options_.use = CorpusUse::evaluation;
  EXPECT_EQ(load().size(), 3u);
}

TEST_F(CorpusTest, RejectsLabelsTooLongAtTheFastestSpeed) {
  options_.data.speeds = {1, 1.2};
  expect_refused({"1 utterance of", "train.jsonl:1: its text of 6 labels needs 6 frames",
                  "make 5 at speed 1.2", "data.bad_utterances"});
  options_.use = CorpusUse::evaluation;
  EXPECT_EQ(load().size(), 3u);
}

TEST_F(CorpusTest, RejectsTextsBeyondTheDecodersPositions) {
  options_.loss.most_labels = 5;
  expect_refused({"1 utterance of", "train.jsonl:1: its text of 6 labels is longer than",
                  "reach for 5 (decoder.max_positions)"});
  options_.loss.most_labels = 6;
  EXPECT_EQ(load().size(), 3u);
}

TEST_F(CorpusTest, LeavesOutTheTooShortWhateverTheirLabels) {
  add(799, "far too many letters for a tenth of a second");
  expect_refused({"train.jsonl:4: its text of 44 labels"});
  options_.data.min_seconds = 0.2;
  const Corpus corpus = load();
  EXPECT_EQ(corpus.size(), 2u);
  EXPECT_EQ(corpus.too_short, 2);
  EXPECT_EQ(corpus.skipped, 0);
}

TEST_F(CorpusTest, NumbersThePromptsOfLanguages) {
  add_line(R"({"audio_filepath": "80000.wav", "text": "lang", "language": "DE"})");
  const Corpus without = load();
  EXPECT_EQ(without.prompt, nullptr);
  options_.languages = {"en", "de"};
  const Corpus corpus = load();
  EXPECT_NE(corpus.hash, without.hash);
  EXPECT_EQ(corpus.prompt(0), 0);
  EXPECT_EQ(corpus.prompt(3), 2);
  options_.languages = {"de", "en"};
  EXPECT_NE(load().hash, corpus.hash);
  options_.languages = {"en"};
  expect_refused({"1 utterance of", "train.jsonl:4: its language 'DE' has no prompt"});
}

TEST_F(CorpusTest, RejectsAudioTooShortForTheModel) {
  options_.output_frames = [](std::int64_t frames) {
    if (frames < 12) throw ShapeError("it takes 12 frames at least");
    return frames;
  };
  expect_refused({"1 utterance of",
                  "train.jsonl:1: its 0.100000 s do not fit the model: it takes 12 frames "
                  "at least"});
}

TEST_F(CorpusTest, RejectsAudioTooLongForTheModel) {
  options_.output_frames = [](std::int64_t frames) {
    if (frames > 12) throw ShapeError("there are positions for 12");
    return frames;
  };
  expect_refused({"s do not fit the model: there are positions for 12"});
}

TEST_F(CorpusTest, PartsOfRecordingsMustFitTheModel) {
  options_.loss.most_labels = 6;
  add(90000, "abcdefgh");
  expect_refused({"1 utterance of", "train.jsonl:4: its text of 8 labels is longer"});
  options_.heard_in_parts = [](const AudioLength& length) { return length.seconds() > 0.11; };
  EXPECT_EQ(load().size(), 4u);
  options_.heard_in_parts = [](const AudioLength& length) -> bool {
    if (length.seconds() < 0.11) return false;
    throw ShapeError("a part has no frame");
  };
  expect_refused({"3 utterances of", "s do not fit the model: a part has no frame"});
}

// The longest has some 1,000 frames at speed 1, and twice as many at half of it.
TEST_F(CorpusTest, RejectsAudioTooLongAtTheSlowestSpeed) {
  options_.data.speeds = {0.5, 1};
  options_.output_frames = [](std::int64_t frames) {
    if (frames > 1500) throw ShapeError("there are positions for 1500");
    return frames;
  };
  expect_refused({"s do not fit the model: there are positions for 1500"});
  options_.data.speeds = {1};
  EXPECT_EQ(load().size(), 3u);
}

TEST_F(CorpusTest, CountsABlankBetweenEqualLabels) {
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

/// Rank 0 tells all, in a job whose last rank reads texts and whose rank 1 reads audio.
TEST_F(CorpusTest, TellsAllRanksWhatOthersFind) {
  add_line("nonsense");
  add_line(R"({"audio_filepath": "gone.wav", "text": "up"})");
  std::vector<std::string> raised(3);
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    try {
      (void)load_corpus(options_, alphabet_, world, {{2}, {1}});
    } catch (const DataError& error) {
      raised[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  EXPECT_NE(raised[0].find("train.jsonl:4: bad JSON"), std::string::npos) << raised[0];
  EXPECT_NE(raised[0].find("gone.wav: no such file"), std::string::npos) << raised[0];
  EXPECT_EQ(raised[1], raised[0]);
  EXPECT_EQ(raised[2], raised[0]);
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
  EXPECT_EQ(corpus.size(), 3u);
  EXPECT_EQ(corpus.labels(2), alphabet_.encode("long"));
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
    const Corpus corpus = load_corpus(options, alphabet_, world, {{2}, {0}});
    ASSERT_EQ(corpus.size(), 2u);
    EXPECT_EQ(corpus.audio(1).audio, whole.audio(1).audio);
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.hash, whole.hash);
    EXPECT_EQ(corpus.most_labels, 6);
    EXPECT_EQ(corpus.skipped, 2);
    EXPECT_EQ(corpus.too_long, 1);
    EXPECT_EQ(corpus.text != nullptr, world.rank() == 2);
    EXPECT_EQ(corpus.labels != nullptr, world.rank() == 2);
    if (world.rank() != 2) return;
    EXPECT_EQ(corpus.text(1), "hello");
    EXPECT_EQ(corpus.labels(1), whole.labels(1));
  });
}

TEST_F(CorpusTest, RanksLearnOfSegments) {
  add_line(R"({"audio_filepath": "80000.wav", "text": "up", "offset": 3.5, "duration": 1.25})");
  const Corpus whole = load();
  EXPECT_EQ(whole.audio(3).first, 28000);
  EXPECT_EQ(whole.lengths[3], (AudioLength{10000, 8000}));
  EXPECT_EQ(whole.audio(2).first, std::nullopt);
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Corpus corpus = load_corpus(options_, alphabet_, world, {{2}, {0}});
    EXPECT_EQ(corpus.audio(3).first, whole.audio(3).first);
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.hash, whole.hash);
  });
  lines_.replace(lines_.find("3.5"), 3, "3.6");
  test::write_file(options_.manifest, lines_);
  EXPECT_NE(load().hash, whole.hash);
}

/// So a run may go on once its recordings have been packed, or packed otherwise.
TEST_F(CorpusTest, HashIsThatOfRecordingsInATar) {
  const std::uint64_t plain = load().hash;
  for (const char* first : {"4001.wav", "800.wav"}) {
    test::TarWriter tar;
    for (const std::string name : {first, "80000.wav", "800.wav", "4001.wav"})
      tar.add(name, test::read_file(in(name)));
    test::write_file(in("audio_0.tar"), tar.bytes());
    std::string lines = lines_;
    for (std::size_t at = lines.find("}"); at != std::string::npos; at = lines.find("}", at + 20))
      lines.insert(at, ", \"shard_id\": 0");
    test::write_file(options_.manifest, lines);
    const Corpus corpus = load();
    EXPECT_EQ(corpus.hash, plain);
    EXPECT_TRUE(tar_member(corpus.audio(0).audio.native()));
  }
}

TEST_F(CorpusTest, ReadersMustFindTheSameTexts) {
  const std::string message = test::message_of<DataError>([&] {
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      configs::TextConfig text;
      if (world.rank() == 1) text.alphabet = "zyxwvutsrqponmlkjihgfedcba";
      const Alphabet alphabet(text);
      (void)load_corpus(options_, alphabet, world, {{0, 1}, {0}});
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
  EXPECT_EQ(load().hash, hash);  // the index is believed
  (void)find_index(
      {.manifest = options_.manifest, .cache = options_.cache, .use = IndexUse::checked});
  EXPECT_NE(load().hash, hash);
}

/// The frames that labels need are cached, and found anew where texts, alphabet or limits are
/// others.
TEST_F(CorpusTest, KeepsWhatLabelsNeed) {
  const std::uint64_t hash = load().hash;
  EXPECT_FALSE(std::filesystem::exists(cached(".labels")));
  options_.labels_key = "a";
  EXPECT_EQ(load().hash, hash);
  const CountingTokenizer counting(alphabet_);
  EXPECT_EQ(load_corpus(options_, counting).hash, hash);
  EXPECT_EQ(counting.encoded, 3);  // a sample: of so few texts, all

  options_.data.max_seconds = 5;
  const std::uint64_t shorter = load_corpus(options_, counting).hash;
  EXPECT_NE(shorter, hash);
  EXPECT_EQ(counting.encoded, 8);  // a sample, and two for the hash
  EXPECT_EQ(load_corpus(options_, counting).hash, shorter);
  EXPECT_EQ(counting.encoded, 11);
  options_.labels_key = "b";
  EXPECT_EQ(load_corpus(options_, counting).hash, shorter);
  EXPECT_EQ(counting.encoded, 16);
  options_.data.max_seconds = 0;
  add(4003, "seven");
  EXPECT_EQ(load_corpus(options_, counting).size(), 4u);
  EXPECT_EQ(counting.encoded, 24);

  std::string damaged = test::read_file(cached(".labels"));
  damaged[3] ^= 1;
  test::write_file(cached(".labels"), damaged);
  EXPECT_EQ(load_corpus(options_, counting).size(), 4u);
  EXPECT_EQ(counting.encoded, 32);
}

TEST_F(CorpusTest, RefusesBadTextsFromWhatIsKept) {
  add(4003, "7 up");
  options_.labels_key = "a";
  options_.data.bad_utterances = "skip";
  for (int time = 0; time < 2; ++time) EXPECT_EQ(load().skipped, 1);
  options_.data.bad_utterances = "refuse";
  expect_refused({"1 utterance", "train.jsonl:4: ", "'7'"});
}

/// Hundreds of texts in another script are one summary, whose overrides fit them.
TEST_F(CorpusTest, TellsUnknownCharactersAtOnce) {
  for (int i = 0; i < 30; ++i) add(8000 + i, i % 2 == 0 ? "Привет, мир" : "мир");
  options_.text.emplace();
  const std::string message = test::message_of<DataError>([&] { load(); });
  for (const char* part :
       {"30 utterances of ", "train.jsonl:4, train.jsonl:5, train.jsonl:6",
        "these and others, 30 transcripts in all, have characters outside text.alphabet",
        "'и' (U+0438) in 30", "'П' (U+041F) in 15", "unicode-lower folds all", "text.alphabet='",
        " text.fold=unicode-lower text.remove=','\n", "data.bad_utterances"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  EXPECT_EQ(message.find("train.jsonl:20"), std::string::npos) << message;
  EXPECT_LT(std::ranges::count(message, '\n'), 8) << message;

  configs::TextConfig fitted;
  fitted.alphabet = "'abcdefghijklmnopqrstuvwxyz веимпрт";
  fitted.fold = "unicode-lower";
  fitted.remove = ",";
  const Alphabet alphabet(fitted);
  EXPECT_EQ(load_corpus(options_, alphabet).size(), 33u);

  options_.data.bad_utterances = "skip";
  const Corpus skipped = load();
  EXPECT_EQ(skipped.skipped, 30);
  EXPECT_EQ(skipped.size(), 3u);
}

/// Ranks of a job measure recordings together, and only where they are asked to.
TEST_F(CorpusTest, ReadersOfAudioShareTheIndexing) {
  for (std::int64_t samples = 900; samples < 930; ++samples) add(samples, "ab");
  const Corpus whole = load();
  std::filesystem::remove(cached(".index"));
  comm::run_as_threads({.ranks = 4}, [&](comm::Communicator& world) {
    const Corpus corpus = load_corpus(options_, alphabet_, world, {{3}, {0, 1, 2}});
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.hash, whole.hash);
    EXPECT_EQ(corpus.audio(32).audio, whole.audio(32).audio);
  });
  EXPECT_TRUE(std::filesystem::exists(cached(".index")));
}

/// Ranks are sent the index where no file can be written for it.
TEST_F(CorpusTest, RanksGetAnIndexThatTheyCannotSee) {
  const Corpus whole = load();
  options_.cache.path = in("train.jsonl");  // a file
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Corpus corpus = load_corpus(options_, alphabet_, world, {{2}, {1}});
    EXPECT_EQ(corpus.lengths, whole.lengths);
    EXPECT_EQ(corpus.hash, whole.hash);
    EXPECT_EQ(corpus.audio(2).audio, in("80000.wav"));
  });
}

}  // namespace
}  // namespace penstock::runtime
