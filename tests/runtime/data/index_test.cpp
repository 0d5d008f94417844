#include "runtime/data/index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/data/index_cache.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class IndexTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::int64_t samples : {777, 1, 16001, 5}) {
      const std::string name = fmt::format("{}.wav", samples);
      test::write_sound(in(name), test::make_sound(samples));
      entries_.push_back({in(name), "", {}, "train.jsonl:1"});
    }
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }
  std::vector<IndexedAudio> index() const {
    return index_audio(entries_, {in("train.jsonl"), in("out"), 3});
  }
  /// Changes the length that the cache at `file` has for 777.wav, to see whether it is used.
  static void falsify(const std::filesystem::path& file) {
    auto cache = read_index_cache(file).value();
    cache.at("777.wav").length.samples = 42;
    ASSERT_TRUE(write_index_cache(cache, file));
  }

  test::TemporaryFolder folder_;
  std::vector<ManifestEntry> entries_;
};

TEST_F(IndexTest, HasExactLengthsInOrder) {
  const auto lengths = index();
  ASSERT_EQ(lengths.size(), 4u);
  EXPECT_EQ(lengths[0].length, (AudioLength{777, 16000}));
  EXPECT_EQ(lengths[1].length, (AudioLength{1, 16000}));
  EXPECT_EQ(lengths[2].length, (AudioLength{16001, 16000}));
  EXPECT_EQ(lengths[3].length, (AudioLength{5, 16000}));
}

TEST_F(IndexTest, IsCachedBesideTheManifest) {
  index();
  falsify(in("train.jsonl.index"));
  EXPECT_EQ(index()[0].length.samples, 42);
  EXPECT_FALSE(std::filesystem::exists(in("out")));
}

TEST_F(IndexTest, IsReadAgainWhereTheAudioHasChanged) {
  index();
  falsify(in("train.jsonl.index"));
  test::write_sound(in("777.wav"), test::make_sound(778));
  EXPECT_EQ(index()[0].length.samples, 778);
  falsify(in("train.jsonl.index"));
  std::filesystem::last_write_time(
      in("777.wav"), std::filesystem::file_time_type::clock::now() - std::chrono::hours(3));
  EXPECT_EQ(index()[0].length.samples, 778);
}

TEST_F(IndexTest, IsReadAgainWhereTheCacheIsDamaged) {
  index();
  falsify(in("train.jsonl.index"));
  const std::string whole = test::read_file(in("train.jsonl.index"));
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& damaged : {flipped, whole.substr(0, whole.size() - 7), std::string()}) {
    test::write_file(in("train.jsonl.index"), damaged);
    EXPECT_EQ(index()[0].length.samples, 777);
  }
}

TEST_F(IndexTest, MovesWithItsFolder) {
  index();
  falsify(in("train.jsonl.index"));
  const auto moved = in("moved");
  std::filesystem::create_directory(moved);
  for (const char* name : {"777.wav", "train.jsonl.index"})
    std::filesystem::rename(in(name), moved / name);
  const auto lengths =
      index_audio({{moved / "777.wav", "", {}, ""}}, {moved / "train.jsonl", {}, 1});
  EXPECT_EQ(lengths[0].length.samples, 42);
}

TEST_F(IndexTest, SegmentsHaveTheirOwnLengths) {
  for (const double offset : {0.0, 0.25, 0.9})
    entries_.push_back({in("16001.wav"), "", 0.1, "", offset});
  entries_.push_back({in("16001.wav"), "", {}, "", 0.5});
  for (int time = 0; time < 2; ++time) {  // measured, then from the cache
    const auto found = index();
    EXPECT_EQ(found[2].first, std::nullopt);
    EXPECT_EQ(found[2].length.samples, 16001);
    EXPECT_EQ(found[5].first, 4000);
    EXPECT_EQ(found[5].length, (AudioLength{1600, 16000}));
    EXPECT_EQ(found[6].length.samples, 1600);
    EXPECT_EQ(found[7].first, 8000);
    EXPECT_EQ(found[7].length.samples, 8001);
  }
  EXPECT_EQ(read_index_cache(in("train.jsonl.index")).value().size(), 4u);
}

TEST_F(IndexTest, RefusesTimesThatDisagreeWithTheRecording) {
  entries_[2].duration = 1.09;
  entries_.push_back({in("16001.wav"), "", 0.89, ""});
  entries_.push_back({in("16001.wav"), "", 0.2, "", 1.5});
  const auto found = index();
  EXPECT_EQ(found[2].fault, "");
  EXPECT_EQ(found[4].fault,
            fmt::format("its duration is 0.89 s, but {} lasts 1.00006 s: correct "
                        "it, or, if a segment is meant, give its \"offset\" as well",
                        in("16001.wav").string()));
  EXPECT_EQ(found[5].fault,
            in("16001.wav").string() + ": its offset is 1.5 s, but the recording lasts 1.00006 s");
}

TEST_F(IndexTest, FallsBackToTheOutputFolder) {
  // A folder of the cache's name can't be replaced by a file, even by root.
  std::filesystem::create_directories(in("train.jsonl.index/x"));
  index();
  std::filesystem::path cache;
  for (const auto& item : std::filesystem::directory_iterator(in("out"))) cache = item.path();
  ASSERT_EQ(cache.extension(), ".index");
  falsify(cache);
  EXPECT_EQ(index()[0].length.samples, 42);
}

TEST_F(IndexTest, NamesUnusableFilesAndDoesNotCacheThem) {
  test::write_file(in("777.wav"), "no sound");
  entries_.push_back({in("gone.flac"), "", {}, ""});
  for (int time = 0; time < 2; ++time) {
    const auto lengths = index();
    EXPECT_NE(lengths[0].fault.find("777.wav: not audio"), std::string::npos);
    EXPECT_NE(lengths[4].fault.find("gone.flac: no such file"), std::string::npos);
    EXPECT_EQ(lengths[2].length.samples, 16001);
  }
}

}  // namespace
}  // namespace penstock::runtime
