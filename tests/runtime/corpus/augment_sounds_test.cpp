#include "runtime/corpus/augment_sounds.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class AugmentSoundsTest : public testing::Test {
 protected:
  AugmentSoundsTest() { options_.cache.path = in("cache"); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  void record(const std::string& name, std::int64_t samples) const {
    std::filesystem::create_directories(in(name).parent_path());
    test::write_sound(in(name), test::make_sound(samples), {0x010002, 8000});
  }
  std::string list(const std::string& name, const std::string& lines) const {
    test::write_file(in(name), lines);
    return in(name).string();
  }
  std::string refusal(const configs::AugmentConfig& augment) const {
    return test::message_of<DataError>([&] { (void)load_augment_sounds(augment, options_); });
  }

  test::TemporaryFolder folder_;
  CorpusOptions options_;
};

TEST_F(AugmentSoundsTest, ListsRecordingsAndSegmentsWithoutTexts) {
  record("a.wav", 8000);
  record("b.wav", 4001);
  const AugmentSounds sounds =
      load_augment_sounds({.noise = list("noise.jsonl", R"({"audio_filepath": "b.wav"}
{"audio_filepath": "a.wav", "offset": 0.5, "duration": 0.25, "text": "-"}
)")},
                          options_);
  EXPECT_EQ(sounds.rooms.count, 0u);
  ASSERT_EQ(sounds.noises.count, 2u);
  EXPECT_EQ(sounds.noises.at(0).audio, in("b.wav"));
  EXPECT_EQ(sounds.noises.at(0).length, (AudioLength{4001, 8000}));
  EXPECT_EQ(sounds.noises.at(1).first, 4000);
  EXPECT_EQ(sounds.noises.at(1).length, (AudioLength{2000, 8000}));
}

TEST_F(AugmentSoundsTest, TakesAFolderOfRecordings) {
  record("rooms/small/a.wav", 801);
  record("rooms/b.wav", 303);
  const AugmentSounds sounds = load_augment_sounds({.rooms = in("rooms").string()}, options_);
  ASSERT_EQ(sounds.rooms.count, 2u);
  EXPECT_EQ(sounds.rooms.at(0).audio, in("rooms/b.wav"));
  EXPECT_EQ(sounds.rooms.at(1).audio, in("rooms/small/a.wav"));
}

TEST_F(AugmentSoundsTest, MeasuresChangedRecordingsAtEachStart) {
  record("a.wav", 8000);
  const configs::AugmentConfig augment{
      .noise = list("noise.jsonl", "{\"audio_filepath\": \"a.wav\"}\n")};
  EXPECT_EQ(load_augment_sounds(augment, options_).noises.at(0).length, (AudioLength{8000, 8000}));
  record("a.wav", 5000);
  EXPECT_EQ(load_augment_sounds(augment, options_).noises.at(0).length, (AudioLength{5000, 8000}));
}

/// The hash follows the recordings, not the folder they lie in.
TEST_F(AugmentSoundsTest, HasAHashOfItsRecordings) {
  for (const char* folder : {"one", "two"}) {
    record(std::string(folder) + "/a.wav", 8000);
    record(std::string(folder) + "/b.wav", 4001);
  }
  const auto hash = [&](const std::string& folder) {
    return load_augment_sounds({.noise = in(folder).string()}, options_).noises.hash;
  };
  EXPECT_EQ(hash("one"), hash("two"));
  record("two/c.wav", 4002);
  EXPECT_NE(hash("one"), hash("two"));
}

TEST_F(AugmentSoundsTest, NamesTheKeyAndWhatIsWrong) {
  record("short.wav", 799);
  record("long.wav", 80001);
  for (const auto& [augment, said] : std::vector<std::pair<configs::AugmentConfig, std::string>>{
           {{.noise = in("none.jsonl").string()}, "none.jsonl: no such file or folder"},
           {{.rooms = in("none").string()}, "none: no such file or folder"},
           {{.noise = list("a.jsonl", R"({"audio_filepath": "gone.wav"})")}, "no such file"},
           {{.noise = list("b.jsonl", R"({"audio_filepath": "short.wav"})")},
            "b.jsonl:1: lasts 0.099875 s, but a noise has at least 0.1 s"},
           {{.rooms = list("c.jsonl", R"({"audio_filepath": "long.wav"})")},
            "c.jsonl:1: lasts 10.0001 s, but an impulse response has at most 10 s"}}) {
    const std::string message = refusal(augment);
    EXPECT_TRUE(message.starts_with(augment.noise.empty() ? "augment.rooms: " : "augment.noise: "))
        << message;
    EXPECT_NE(message.find(said), std::string::npos) << message;
  }
}

TEST_F(AugmentSoundsTest, MayLeaveOutBadRecordings) {
  record("short.wav", 799);
  record("good.wav", 801);
  options_.data.bad_utterances = "skip";
  const std::string both =
      "{\"audio_filepath\": \"short.wav\"}\n{\"audio_filepath\": \"good.wav\"}\n";
  const AugmentSounds sounds = load_augment_sounds({.noise = list("noise.jsonl", both)}, options_);
  ASSERT_EQ(sounds.noises.count, 1u);
  EXPECT_EQ(sounds.noises.at(0).audio, in("good.wav"));
  EXPECT_NE(refusal({.noise = list("bad.jsonl", both.substr(0, both.find('\n')))})
                .find("has no recording that can be used"),
            std::string::npos);
}

TEST_F(AugmentSoundsTest, IsTheSameOnAllRanks) {
  record("noises/a.wav", 8000);
  record("noises/b.wav", 4001);
  std::vector<std::string> hashes(3);
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const AugmentSounds sounds =
        load_augment_sounds({.noise = in("noises").string()}, options_, world, {{2}, {0, 1}});
    EXPECT_EQ(sounds.noises.at(1).audio, in("noises/b.wav"));
    hashes[static_cast<std::size_t>(world.rank())] = sounds.noises.hash;
  });
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace penstock::runtime
