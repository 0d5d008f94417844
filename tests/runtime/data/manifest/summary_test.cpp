#include "runtime/data/manifest/summary.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "runtime/data/index/index.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class SummaryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(in("audio"));
    test::write_sound(in("audio/short.wav"), test::make_sound(4000), {0x010002, 8000});
    test::write_sound(in("audio/long.wav"), test::make_sound(40001));
    test::write_file(in("audio/bad.wav"), "no sound");
    test::write_file(in("good.jsonl"),
                     R"({"audio_filepath": "audio/short.wav", "text": "aé", "duration": 0.505})"
                     "\n"
                     R"({"audio_filepath": "audio/long.wav", "text": "a b", "duration": 2.6})"
                     "\n");
    test::write_file(in("bad.jsonl"), R"({"audio_filepath": "audio/long.wav", "text": "c"})"
                                      "\n"
                                      R"({"audio_filepath": "audio/bad.wav", "text": "d"})"
                                      "\n"
                                      "nonsense\n");
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  test::TemporaryFolder folder_;
};

TEST_F(SummaryTest, TellsWhatAManifestHolds) {
  for (const bool fresh : {false, true}) {
    const ManifestSummary summary = summarise(
        in("good.jsonl"), {.threads = 2, .use = fresh ? IndexUse::fresh : IndexUse::checked});
    EXPECT_EQ(summary.format, "JSON lines");
    EXPECT_EQ(summary.utterances, 2);
    EXPECT_DOUBLE_EQ(summary.seconds, 0.5 + 40001 / 16000.0);
    EXPECT_DOUBLE_EQ(summary.shortest, 0.5);
    EXPECT_DOUBLE_EQ(summary.longest, 40001 / 16000.0);
    EXPECT_EQ(summary.histogram, (std::vector<std::int64_t>{1, 0, 1}));
    EXPECT_EQ(summary.rates, (std::map<int, std::int64_t>{{8000, 1}, {16000, 1}}));
    EXPECT_EQ(summary.characters,
              (std::map<std::string, std::int64_t>{{"a", 2}, {"é", 1}, {" ", 1}, {"b", 1}}));
    EXPECT_TRUE(summary.rejected.empty());
    ASSERT_EQ(summary.inexact.size(), 1u);
    EXPECT_EQ(summary.inexact.all()[0].where, "good.jsonl:2");
  }
}

TEST_F(SummaryTest, NamesEmptyTexts) {
  test::write_file(in("empty.jsonl"), R"({"audio_filepath": "audio/long.wav", "text": "c"})"
                                      "\n"
                                      R"({"audio_filepath": "audio/long.wav", "text": ""})"
                                      "\n"
                                      R"({"audio_filepath": "audio/long.wav", "text": "  "})"
                                      "\n");
  const ManifestSummary summary = summarise(in("empty.jsonl"));
  EXPECT_EQ(summary.utterances, 3);
  EXPECT_TRUE(summary.rejected.empty());
  ASSERT_EQ(summary.without_text.size(), 2u);
  EXPECT_EQ(summary.without_text.all()[0].where, "empty.jsonl:2");
  EXPECT_EQ(summary.without_text.all()[1].where, "empty.jsonl:3");
  EXPECT_TRUE(summarise(in("good.jsonl")).without_text.empty());
}

TEST_F(SummaryTest, RejectsWithReasons) {
  const ManifestSummary summary = summarise(in("bad.jsonl"));
  EXPECT_EQ(summary.utterances, 1);
  const std::string listed = summary.rejected.listed();
  EXPECT_EQ(summary.rejected.size(), 2u);
  EXPECT_NE(listed.find("bad.jsonl:2: "), std::string::npos) << listed;
  EXPECT_NE(listed.find("not audio"), std::string::npos) << listed;
  EXPECT_NE(listed.find("bad.jsonl:3: bad JSON"), std::string::npos) << listed;
}

TEST_F(SummaryTest, MakesMergedManifestsThatReadTheSame) {
  for (const bool absolute : {false, true}) {
    const auto made = in("made/all.jsonl");
    make_manifest({{in("good.jsonl"), in("good.jsonl")}, made, absolute, false, 1});
    Faults none;
    const auto entries = read_manifest(made, none);
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[3].text, "a b");
    EXPECT_EQ(entries[0].duration, 0.5);
    EXPECT_EQ(entries[1].duration, 2.5);
    EXPECT_TRUE(std::filesystem::equivalent(entries[3].audio, in("audio/long.wav")));
    EXPECT_EQ(test::read_file(made).find(folder_.path().string()) != std::string::npos, absolute);
    EXPECT_TRUE(summarise(made).inexact.empty());
  }
}

TEST_F(SummaryTest, MakesSegmentsOfTheSameSamples) {
  test::write_file(
      in("cut.jsonl"),
      R"({"audio_filepath": "audio/long.wav", "text": "a", "offset": 0.33333})"
      "\n"
      R"({"audio_filepath": "audio/long.wav", "text": "b", "offset": 1, "duration": 0.1})"
      "\n");
  make_manifest({{in("cut.jsonl")}, in("made.jsonl"), false, false, 1});
  const UtteranceIndex before = find_index({in("cut.jsonl")}).index;
  const UtteranceIndex made = find_index({in("made.jsonl")}).index;
  ASSERT_EQ(made.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(made.first(i), before.first(i));
    EXPECT_EQ(made.length(i), before.length(i));
  }
  EXPECT_EQ(made.first(0), 5333);
}

TEST_F(SummaryTest, RejectsBadUtterancesUnlessTheyMayBeSkipped) {
  MakeOptions options{{in("good.jsonl"), in("bad.jsonl")}, in("made.jsonl")};
  const std::string message = test::message_of<DataError>([&] { make_manifest(options); });
  EXPECT_NE(message.find("2 utterances cannot be used"), std::string::npos) << message;
  EXPECT_NE(message.find("leave them out by --skip-bad"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(in("made.jsonl")));
  options.skip_bad = true;
  EXPECT_EQ(make_manifest(options).utterances, 3);
  Faults none;
  EXPECT_EQ(read_manifest(in("made.jsonl"), none).size(), 3u);
  EXPECT_TRUE(none.empty());
}

TEST_F(SummaryTest, RejectsAnOutputThatCannotBeWritten) {
  const MakeOptions options{{in("good.jsonl")}, in("good.jsonl") / "made.jsonl"};
  EXPECT_THROW(make_manifest(options), DataError);
}

}  // namespace
}  // namespace penstock::runtime
