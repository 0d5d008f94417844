#include "runtime/corpus/leaks.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/runtime/sounds.h"

namespace penstock::runtime {
namespace {

constexpr int kFlac = 0x170002;

/// Recordings 0.wav to 6.wav, of which no two sound alike.
class FindLeaks : public testing::Test {
 protected:
  FindLeaks() {
    for (unsigned i = 0; i < 7; ++i) put_sound(std::to_string(i) + ".wav", i);
  }
  void put_sound(const std::string& name, unsigned seed, int format = 0x010002) const {
    ASSERT_TRUE(test::write_sound(files_.in(name), test::make_sound(1601 + seed % 2, seed + 1),
                                  {.format = format}));
  }
  /// A manifest of lines `"audio", "text"` with whatever follows.
  std::filesystem::path manifest(const std::string& name,
                                 std::initializer_list<const char*> lines) const {
    std::string text;
    for (const char* line : lines) text += fmt::format("{{\"audio_filepath\": {}}}\n", line);
    return files_.put(name, text);
  }
  Leaks found(std::initializer_list<const char*> training,
              std::initializer_list<const char*> test) const {
    return find_leaks(manifest("train.jsonl", training), manifest("test.jsonl", test), 2);
  }

  test::ManifestFolder files_;
};

TEST_F(FindLeaks, FindsNoneWhereAllDiffers) {
  const Leaks leaks = found({R"("0.wav", "text": "one")", R"("2.wav", "text": "")"},
                            {R"("1.wav", "text": "two")", R"("4.wav", "text": "")"});
  EXPECT_TRUE(leaks.recordings.empty()) << leaks.recordings.listed();
  EXPECT_TRUE(leaks.texts.empty()) << leaks.texts.listed();
  EXPECT_EQ(leaks.utterances, 2);
}

TEST_F(FindLeaks, FindsFilesByAnyOfTheirNames) {
  std::filesystem::create_symlink(files_.in("3.wav"), files_.in("link.wav"));
  const Leaks leaks = found({R"("1.wav", "text": "a")", R"("3.wav", "text": "b")"},
                            {R"("link.wav", "text": "c")", R"("0.wav", "text": "d")"});
  ASSERT_EQ(leaks.recordings.size(), 1u) << leaks.recordings.listed();
  EXPECT_EQ(leaks.recordings.all()[0].where, "test.jsonl:1");
  EXPECT_TRUE(leaks.recordings.all()[0].what.ends_with("is a recording of train.jsonl:2 as well"));
}

// Two parts of a recording have its speaker and its room, though they share no sample.
TEST_F(FindLeaks, FindsOtherPartsOfARecording) {
  const Leaks leaks = found({R"("0.wav", "offset": 0, "duration": 0.05, "text": "a")"},
                            {R"("0.wav", "offset": 0.05, "duration": 0.04, "text": "b")"});
  EXPECT_EQ(leaks.recordings.size(), 1u);
}

TEST_F(FindLeaks, FindsTheSameSamplesInOtherFiles) {
  put_sound("copy.flac", 5, kFlac);
  const Leaks leaks = found({R"("5.wav", "text": "a")", R"("1.wav", "text": "b")"},
                            {R"("3.wav", "text": "c")", R"("copy.flac", "text": "d")"});
  ASSERT_EQ(leaks.recordings.size(), 1u) << leaks.recordings.listed();
  EXPECT_EQ(leaks.recordings.all()[0].where, "test.jsonl:2");
  EXPECT_NE(leaks.recordings.all()[0].what.find("has the samples of train.jsonl:1 ("),
            std::string::npos);
}

TEST_F(FindLeaks, FindsTextsWhateverTheirCase) {
  const Leaks leaks =
      found({R"("0.wav", "text": "Caf\u00e9  Жук")", R"("2.wav", "text": "other")"},
            {R"("1.wav", "text": "cafe\u0301 жук")", R"("3.wav", "text": "another")"});
  ASSERT_EQ(leaks.texts.size(), 1u) << leaks.texts.listed();
  EXPECT_EQ(leaks.texts.all()[0].where, "test.jsonl:1");
  EXPECT_EQ(leaks.texts.all()[0].what, "\"café жук\" is a text of train.jsonl:1 as well");
}

TEST_F(FindLeaks, RefusesWhatCannotBeRead) {
  EXPECT_THROW((void)found({R"("0.wav", "text": "a")"}, {R"("gone.wav", "text": "b")"}), DataError);
  EXPECT_THROW((void)find_leaks(files_.in("gone.jsonl"), manifest("test.jsonl", {}), 1), DataError);
}

}  // namespace
}  // namespace penstock::runtime
