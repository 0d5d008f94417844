#include "runtime/data/index/index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class IndexTest : public testing::Test {
 protected:
  IndexTest() {
    for (const std::int64_t samples : {777, 1, 16001, 5}) {
      const std::string name = fmt::format("{}.wav", samples);
      test::write_sound(in(name), test::make_sound(samples));
      add(name);
    }
  }
  fs::path in(const std::string& name) const { return folder_.path() / name; }
  void add(const std::string& audio, const std::string& more = "") {
    lines_ += fmt::format(R"({{"audio_filepath": "{}", "text": "t"{}}})", audio, more) + "\n";
    test::write_file(in("train.jsonl"), lines_);
  }

  /// Finds the index, and keeps in mind which recordings were asked for, and which were measured.
  FoundIndex find(const fs::path& manifest, IndexUse use = IndexUse::ready) {
    asked_.clear();
    measured_.clear();
    return find_index(
        {manifest, {in("cache")}, 3, use}, [&](std::span<const RecordingQuery> queries) {
          RecordingAnswers answers =
              measure_recordings(queries, {folder_of(manifest), 3, use == IndexUse::fresh});
          for (std::size_t i = 0; i < queries.size(); ++i) {
            asked_.push_back(queries[i].path);
            if (!queries[i].length.known() || queries[i].stamp != answers[i]->stamp)
              measured_.push_back(queries[i].path);
          }
          return answers;
        });
  }
  fs::path cached() const { return cached_file({in("cache")}, in("train.jsonl"), ".index"); }
  std::size_t files_beside() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(fs::directory_iterator(folder_.path()),
                              [](const auto& item) { return item.is_regular_file(); }));
  }
  UtteranceIndex index(IndexUse use = IndexUse::ready) {
    return find(in("train.jsonl"), use).index;
  }

  /// Gives all files an earlier time, so that nothing seems to have changed just now.
  void age(std::chrono::minutes by = std::chrono::minutes(60)) const {
    const auto then = fs::file_time_type::clock::now() - by;
    for (const auto& item : fs::recursive_directory_iterator(folder_.path()))
      fs::last_write_time(item.path(), then);
    fs::last_write_time(folder_.path(), then);
  }

  test::TemporaryFolder folder_;
  std::string lines_;
  Names asked_, measured_;
};

TEST_F(IndexTest, HasTheLanguagesOfLines) {
  add("5.wav", R"(, "lang": "de")");
  const UtteranceIndex found = index();
  EXPECT_EQ(found.language(0), "");
  EXPECT_EQ(found.language(4), "de");
  EXPECT_EQ(found.text(4), "t");
  EXPECT_EQ(found.where(4), "train.jsonl:5");
}

TEST_F(IndexTest, HasExactLengthsInOrder) {
  const UtteranceIndex found = index();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found.length(0), (AudioLength{777, 16000}));
  EXPECT_EQ(found.length(1), (AudioLength{1, 16000}));
  EXPECT_EQ(found.length(2), (AudioLength{16001, 16000}));
  EXPECT_EQ(found.length(3), (AudioLength{5, 16000}));
  EXPECT_EQ(found.path(2), "16001.wav");
  EXPECT_EQ(found.text(2), "t");
  EXPECT_EQ(found.where(2), "train.jsonl:3");
  EXPECT_EQ(found.first(2), std::nullopt);
  EXPECT_EQ(found.duration(2), std::nullopt);
  EXPECT_EQ(found.lengths(nullptr)[3], (AudioLength{5, 16000}));
  EXPECT_EQ(measured_, (Names{"777.wav", "1.wav", "16001.wav", "5.wav"}));
}

TEST_F(IndexTest, IsReadyInTheCache) {
  const FoundIndex made = find(in("train.jsonl"));
  EXPECT_EQ(made.file, cached());
  EXPECT_EQ(find(in("train.jsonl")).index.id(), made.index.id());  // of a manifest made just now
  EXPECT_EQ(asked_, Names());
  age();
  (void)find(in("train.jsonl"), IndexUse::checked);
  EXPECT_EQ(find(in("train.jsonl")).index.length(0).samples, 777);  // and of an old one
  EXPECT_EQ(asked_, Names());
  EXPECT_EQ(files_beside(), 5u);
  EXPECT_EQ(std::distance(fs::directory_iterator(in("cache")), fs::directory_iterator()), 1);
}

TEST_F(IndexTest, LiesBesideTheManifestIfAsked) {
  const FoundIndex made = find_index({.manifest = in("train.jsonl"), .beside = true});
  EXPECT_EQ(made.file, in("train.jsonl.index"));
  EXPECT_EQ(files_beside(), 6u);
  EXPECT_EQ(find(in("train.jsonl")).file, in("train.jsonl.index"));
  EXPECT_EQ(asked_, Names());
  EXPECT_FALSE(fs::exists(in("cache")));
  add("5.wav");  // now it is not current, so that the cache has a newer one
  EXPECT_EQ(find(in("train.jsonl")).file, cached());
  EXPECT_EQ(measured_, Names());
  EXPECT_EQ(find(in("train.jsonl")).file, cached());
  EXPECT_EQ(asked_, Names());
}

TEST_F(IndexTest, FollowsItsManifest) {
  (void)index();
  test::write_sound(in("2.wav"), test::make_sound(2));
  add("2.wav");
  EXPECT_EQ(index().length(4).samples, 2);
  EXPECT_EQ(measured_, Names{"2.wav"});
  // The manifest changes within a tick of the clock and stays as long as before.
  lines_.replace(lines_.find(R"("t")"), 3, R"("u")");
  test::write_file(in("train.jsonl"), lines_);
  EXPECT_EQ(index().text(0), "u");
  EXPECT_EQ(measured_, Names());
  // A copy of another time is the same manifest.
  age();
  EXPECT_EQ(index().text(0), "u");
  EXPECT_EQ(asked_, Names());
}

TEST_F(IndexTest, LooksAtRecordingsWhereItIsChecked) {
  (void)index();
  age();
  (void)index(IndexUse::checked);
  test::write_sound(in("777.wav"), test::make_sound(778));
  EXPECT_EQ(index().length(0).samples, 777);
  EXPECT_EQ(asked_, Names());
  EXPECT_EQ(index(IndexUse::checked).length(0).samples, 778);
  EXPECT_EQ(asked_.size(), 4u);
  EXPECT_EQ(measured_, Names{"777.wav"});
  EXPECT_EQ(index().length(0).samples, 778);
  fs::last_write_time(in("5.wav"), fs::file_time_type::clock::now() - std::chrono::hours(3));
  (void)index(IndexUse::checked);
  EXPECT_EQ(measured_, Names{"5.wav"});
  (void)index(IndexUse::fresh);
  EXPECT_EQ(measured_.size(), 4u);
}

TEST_F(IndexTest, IsMadeAnewWhereItIsDamaged) {
  (void)index();
  const std::string whole = test::read_file(cached());
  Names damaged = {whole.substr(0, whole.size() - 7), "", "penstock audio index 1 42\n"};
  for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 100}) {
    damaged.push_back(whole);
    damaged.back()[at] ^= 1;
  }
  for (const std::string& bytes : damaged) {
    test::write_file(cached(), bytes);
    EXPECT_EQ(index().length(0).samples, 777);
    EXPECT_EQ(measured_.size(), 4u);
    EXPECT_TRUE(index().intact());
    EXPECT_EQ(asked_, Names());
  }
}

TEST_F(IndexTest, MovesWithItsFolder) {
  (void)find_index({.manifest = in("train.jsonl"), .beside = true});
  const auto moved = in("moved");
  fs::create_directory(moved);
  for (const char* name :
       {"777.wav", "1.wav", "16001.wav", "5.wav", "train.jsonl", "train.jsonl.index"})
    fs::rename(in(name), moved / name);
  const UtteranceIndex found = find(moved / "train.jsonl").index;
  EXPECT_EQ(asked_, Names());
  EXPECT_TRUE(fs::exists(folder_of(moved / "train.jsonl") / found.path(2)));
}

TEST_F(IndexTest, SegmentsHaveTheirOwnLengths) {
  for (const char* offset : {"0.0", "0.25", "0.9"})
    add("16001.wav", fmt::format(R"(, "duration": 0.1, "offset": {})", offset));
  add("5.wav");
  add("16001.wav", R"(, "offset": 0.5)");
  for (int time = 0; time < 2; ++time) {  // measured, then ready
    const UtteranceIndex found = index();
    EXPECT_EQ(found.first(2), std::nullopt);
    EXPECT_EQ(found.length(2).samples, 16001);
    EXPECT_EQ(found.first(4), 0);
    EXPECT_EQ(found.first(5), 4000);
    EXPECT_EQ(found.length(5), (AudioLength{1600, 16000}));
    EXPECT_EQ(found.duration(5), 0.1);
    EXPECT_EQ(found.length(6).samples, 1600);
    EXPECT_EQ(found.first(8), 8000);
    EXPECT_EQ(found.length(8).samples, 8001);
    EXPECT_EQ(found.path(8), "16001.wav");
    EXPECT_EQ(found.recordings().size(), 4u);
  }
}

TEST_F(IndexTest, RefusesTimesThatDisagreeWithTheRecording) {
  add("16001.wav", R"(, "duration": 1.09)");
  add("16001.wav", R"(, "duration": 0.89)");
  add("16001.wav", R"(, "offset": 1.5, "duration": 0.2)");
  add("5.wav");
  for (int time = 0; time < 2; ++time) {  // measured, then looked at again
    const UtteranceIndex found = index();
    EXPECT_EQ(found.size(), 6u);
    EXPECT_EQ(found.where(5), "train.jsonl:8");
    const auto faults = found.faults();
    ASSERT_EQ(faults.size(), 2u);
    EXPECT_EQ(faults[0].where, "train.jsonl:6");
    EXPECT_EQ(faults[0].what,
              fmt::format("its duration is 0.89 s, but {} lasts 1.00006 s: correct "
                          "it, or, if a segment is meant, give its \"offset\" as well",
                          in("16001.wav").string()));
    EXPECT_EQ(faults[1].what, in("16001.wav").string() +
                                  ": its offset is 1.5 s, but the recording lasts 1.00006 s");
  }
  EXPECT_EQ(asked_, Names{"16001.wav"});
  EXPECT_EQ(measured_, Names());
  test::write_sound(in("16001.wav"), test::make_sound(28000));
  EXPECT_EQ(index().faults().size(), 2u);  // others: the durations of the first two
  EXPECT_EQ(index().size(), 6u);
}

TEST_F(IndexTest, ServesARunThatCannotKeepIt) {
  test::write_file(in("cache"), "a file");
  const FoundIndex found = find(in("train.jsonl"));
  EXPECT_EQ(found.file, "");
  EXPECT_EQ(found.index.length(2).samples, 16001);
}

TEST_F(IndexTest, TriesUnusableRecordingsAgain) {
  test::write_file(in("777.wav"), "no sound");
  add("gone.flac");
  test::write_file(in("train.jsonl"), lines_ + "nonsense\n");
  for (int time = 0; time < 2; ++time) {
    const UtteranceIndex found = index();
    EXPECT_EQ(found.size(), 3u);
    const auto faults = found.faults();
    ASSERT_EQ(faults.size(), 3u);
    EXPECT_EQ(faults[0].where, "train.jsonl:6");
    EXPECT_NE(faults[1].what.find("777.wav: not audio"), std::string::npos);
    EXPECT_NE(faults[2].what.find("gone.flac: no such file"), std::string::npos);
  }
  EXPECT_EQ(asked_, (Names{"777.wav", "gone.flac"}));
  test::write_sound(in("777.wav"), test::make_sound(779));
  EXPECT_EQ(index().length(0).samples, 779);
  EXPECT_EQ(index().faults().size(), 2u);
}

/// A run that is killed while it waits for answers, of which it gets one at a time.
TEST_F(IndexTest, GoesOnWhereItWasEnded) {
  int rounds = 0;
  const auto one_at_a_time = [&](std::span<const RecordingQuery> queries) {
    if (++rounds > 2) throw std::runtime_error("ended");
    RecordingAnswers answers(queries.size());
    answers.front() = measure_recordings(queries.first(1), {folder_.path(), 1}).front();
    return answers;
  };
  const IndexOptions options{in("train.jsonl"), {in("cache")}};
  EXPECT_THROW((void)find_index(options, one_at_a_time), std::runtime_error);
  EXPECT_FALSE(fs::exists(cached()));
  EXPECT_EQ(index().length(1).samples, 1);
  EXPECT_EQ(measured_, (Names{"16001.wav", "5.wav"}));
  rounds = -100;
  fs::remove(cached());
  EXPECT_EQ(find_index(options, one_at_a_time).index.length(3).samples, 5);
}

TEST_F(IndexTest, OfAFolderFollowsItsTexts) {
  fs::create_directories(in("kaldi"));
  test::write_file(in("kaldi/wav.scp"), "a ../777.wav\nb ../5.wav\n");
  test::write_file(in("kaldi/text"), "b two\na one\n");
  age();
  EXPECT_EQ(find(in("kaldi")).index.text(1), "two");
  EXPECT_EQ(find(in("kaldi")).index.text(1), "two");
  EXPECT_EQ(asked_, Names());
  test::write_file(in("kaldi/text"), "b six\na one\n");
  EXPECT_EQ(find(in("kaldi")).index.text(1), "six");
  EXPECT_EQ(measured_, Names());
  test::write_file(in("kaldi/segments"), "a a 0 0.01\nb b 0.0 -1\n");
  EXPECT_EQ(find(in("kaldi")).index.length(0).samples, 160);
}

TEST_F(IndexTest, SeesFilesThatComeToAFolder) {
  fs::create_directories(in("speech/deep"));
  for (const char* name : {"speech/a", "speech/deep/b"}) {
    test::write_sound(in(std::string(name) + ".wav"), test::make_sound(300));
    test::write_file(in(std::string(name) + ".txt"), "t");
  }
  age();
  EXPECT_EQ(find(in("speech")).index.size(), 2u);
  EXPECT_EQ(find(in("speech")).index.path(1), "deep/b.wav");
  EXPECT_EQ(asked_, Names());
  test::write_sound(in("speech/deep/c.wav"), test::make_sound(301));
  test::write_file(in("speech/deep/c.txt"), "t");
  EXPECT_EQ(find(in("speech")).index.size(), 3u);
  EXPECT_EQ(measured_, Names{"deep/c.wav"});
}

// An index without texts has its own place, so it never passes as one with texts.
TEST_F(IndexTest, KeepsAnIndexWithoutTextsApart) {
  test::write_file(in("noise.jsonl"), "{\"audio_filepath\": \"777.wav\"}\n");
  const IndexOptions sounds{.manifest = in("noise.jsonl"), .cache = {in("cache")}, .texts = false};
  EXPECT_EQ(find_index(sounds).index.size(), 1u);
  EXPECT_EQ(find_index(sounds).file, cached_file({in("cache")}, in("noise.jsonl"), ".sounds"));
  EXPECT_EQ(find(in("noise.jsonl")).index.size(), 0u);
  EXPECT_EQ(find(in("noise.jsonl")).index.faults().size(), 1u);
  EXPECT_EQ(find_index(sounds).index.size(), 1u);
}

TEST(KeyOf, IsRelativeToTheFolderThatHoldsIt) {
  EXPECT_EQ(key_of("a/b.wav", ""), "a/b.wav");
  EXPECT_EQ(key_of("/x/b.wav", ""), "/x/b.wav");
  EXPECT_EQ(key_of("/data/a/b.wav", "/data"), "a/b.wav");
  EXPECT_EQ(key_of("/data/a/b.wav", "/data/"), "a/b.wav");
  EXPECT_EQ(key_of("/data2/b.wav", "/data"), "/data2/b.wav");
  EXPECT_EQ(key_of("wav/b.wav", "data"), (fs::current_path() / "wav/b.wav").string());
  EXPECT_EQ(key_of("data", "data"), "");
}

}  // namespace
}  // namespace penstock::runtime
