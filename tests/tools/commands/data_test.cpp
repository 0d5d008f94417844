#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class DataCommand : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sound(in("a.wav"), test::make_sound(8000));
    test::write_sound(in("b.wav"), test::make_sound(24001));
    test::write_file(in("a.jsonl"), R"({"audio_filepath": "a.wav", "text": "one"})");
    test::write_file(in("b.csv"), in("b.wav") + "," + in("b.txt") + "\n");
    test::write_file(in("b.txt"), "two");
    test::write_file(in("bad.jsonl"), "{\"audio_filepath\": \"a.wav\", \"text\": \"x\"}\n{oops\n");
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  static test::Outcome data(std::vector<std::string> words) {
    words.insert(words.begin(), {PENSTOCK_BINARY, "data"});
    return test::run_program(words);
  }

  test::TemporaryFolder folder_;
};

TEST_F(DataCommand, MergesAndSummarises) {
  const auto merged = data({"merge", in("a.jsonl"), in("b.csv"), "--output", in("both.jsonl")});
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_NE(merged.out.find("2 utterances"), std::string::npos) << merged.out;
  const auto summary = data({"summary", in("both.jsonl"), "--json"});
  const auto report = nlohmann::json::parse(summary.out);
  EXPECT_EQ(report["utterances"], 2);
  EXPECT_DOUBLE_EQ(report["seconds"], 32001 / 16000.0);
  EXPECT_EQ(report["histogram"], nlohmann::json({1, 1}));
  EXPECT_EQ(report["characters"]["o"], 2);
  EXPECT_EQ(report["rejected"].size(), 0u);
}

TEST_F(DataCommand, SummaryNamesRejectedUtterances) {
  const auto outcome = data({"summary", in("bad.jsonl")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("bad.jsonl:2: "), std::string::npos) << outcome.out;
}

TEST_F(DataCommand, SummaryNamesEmptyTexts) {
  test::write_file(in("empty.jsonl"), R"({"audio_filepath": "a.wav", "text": ""})");
  const auto outcome = data({"summary", in("empty.jsonl")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("1 utterance without text:\n  empty.jsonl:1: "), std::string::npos)
      << outcome.out;
}

TEST_F(DataCommand, IndexLooksAtEveryRecording) {
  const auto made = data({"index", in("a.jsonl")});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("a.jsonl.index: 1 utterance, 0.000 hours, of 1 recording\n"),
            std::string::npos)
      << made.out;
  test::write_sound(in("a.wav"), test::make_sound(16000 * 36));
  const auto again = data({"index", in("a.jsonl"), "--json"});
  const auto report = nlohmann::json::parse(again.out);
  EXPECT_DOUBLE_EQ(report["hours"], 0.01);
  EXPECT_EQ(report["index"], in("a.jsonl.index"));
}

/// A summary puts no file beside a user's recordings unless it is asked to.
TEST_F(DataCommand, SummaryLeavesNoFileBesideTheManifest) {
  EXPECT_EQ(data({"summary", in("a.jsonl")}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(in("a.jsonl.index")));
  EXPECT_EQ(data({"index", in("a.jsonl")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(in("a.jsonl.index")));
}

TEST_F(DataCommand, AlphabetPrintsWhatFitsSeveralManifests) {
  test::write_file(in("ru.jsonl"), R"({"audio_filepath": "a.wav", "text": "Да, it's"})");
  const auto outcome = data({"alphabet", in("a.jsonl"), in("ru.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2 transcripts, 11 characters\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("These overrides fit all of them:\n  text.alphabet=''\\''einostад ' "
                             "text.fold=unicode-lower text.remove=','\n"),
            std::string::npos)
      << outcome.out;
  const auto json =
      nlohmann::json::parse(data({"alphabet", in("a.jsonl"), in("ru.jsonl"), "--json"}).out);
  EXPECT_EQ(json["text"]["alphabet"], "'einostад ");
  EXPECT_EQ(json["characters"]["Д"], 1);
  const auto bad = data({"alphabet", in("bad.jsonl")});
  EXPECT_EQ(bad.code, 0);
  EXPECT_NE(bad.err.find("bad.jsonl:2: "), std::string::npos) << bad.err;
  test::write_file(in("empty.jsonl"), "");
  EXPECT_EQ(data({"alphabet", in("empty.jsonl")}).code, 3);
}

TEST_F(DataCommand, IndexNamesRejectedUtterances) {
  const auto outcome = data({"index", in("bad.jsonl")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("bad.jsonl:2: "), std::string::npos) << outcome.out;
}

TEST_F(DataCommand, IndexThatCannotBeWrittenEndsWith3) {
  std::filesystem::create_directories(in("a.jsonl.index/taken"));
  const auto outcome = data({"index", in("a.jsonl")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("no index can be written"), std::string::npos) << outcome.err;
}

TEST_F(DataCommand, VerifyEndsWith3) {
  EXPECT_EQ(data({"verify", in("a.jsonl")}).code, 0);
  const auto outcome = data({"verify", in("bad.jsonl"), "--json"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("bad.jsonl:2: "), std::string::npos) << outcome.err;
  EXPECT_EQ(data({"summary", in("missing.jsonl")}).code, 3);
}

TEST_F(DataCommand, VerifyTellsWhatATestSetShares) {
  test::write_file(in("text.jsonl"), R"({"audio_filepath": "b.wav", "text": "One"})");
  const auto text = data({"verify", in("a.jsonl"), "--leaks", in("text.jsonl"), "--json"});
  EXPECT_EQ(text.code, 0) << text.err;
  const auto leaks = nlohmann::json::parse(text.out)["leaks"];
  EXPECT_EQ(leaks["utterances"], 1);
  EXPECT_EQ(leaks["recordings"].size(), 0u);
  EXPECT_EQ(leaks["texts"][0]["where"], "text.jsonl:1");
  const auto recording = data({"verify", in("a.jsonl"), "--leaks", in("a.jsonl")});
  EXPECT_EQ(recording.code, 3);
  EXPECT_NE(recording.out.find("\nshared recordings: 1 of the test set's 1 utterance\n"),
            std::string::npos)
      << recording.out;
  EXPECT_NE(recording.err.find("a.wav is a recording of a.jsonl:1 as well"), std::string::npos)
      << recording.err;
}

TEST_F(DataCommand, VerifyRejectsAnEmptyManifest) {
  test::write_file(in("empty.jsonl"), "");
  const auto outcome = data({"verify", in("empty.jsonl")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("empty.jsonl: holds no utterances"), std::string::npos) << outcome.err;
}

TEST_F(DataCommand, MakeWritesNothingWhereUtterancesAreBad) {
  EXPECT_EQ(data({"make", in("bad.jsonl"), "-o", in("out.jsonl")}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(in("out.jsonl")));
  EXPECT_EQ(data({"make", in("bad.jsonl"), "-o", in("out.jsonl"), "--skip-bad"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(in("out.jsonl")));
}

/// The manifest that it writes names members, and can be read again.
TEST_F(DataCommand, MakesAManifestOfTars) {
  std::filesystem::create_directories(in("shards"));
  test::write_file(in("shards/s-0.tar"), test::TarWriter()
                                             .add("x/a.wav", test::read_file(in("a.wav")))
                                             .add("x/a.txt", "one\n")
                                             .add("b.wav", test::read_file(in("b.wav")))
                                             .add("b.json", R"({"text": "two"})")
                                             .bytes());
  const auto made = data({"make", in("shards"), "-o", in("made/all.jsonl")});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(test::read_file(in("made/all.jsonl")),
            "{\"audio_filepath\":\"../shards/s-0.tar:x/a.wav\",\"duration\":0.5,\"text\":\"one\"}\n"
            "{\"audio_filepath\":\"../shards/s-0.tar:b.wav\",\"duration\":1.5,\"text\":\"two\"}\n");
  EXPECT_EQ(data({"verify", in("made/all.jsonl")}).code, 0);
  const auto summary = nlohmann::json::parse(data({"summary", in("shards"), "--json"}).out);
  EXPECT_EQ(summary["format"], "WebDataset tars");
  EXPECT_DOUBLE_EQ(summary["seconds"], 32001 / 16000.0);
  const auto leaks = data({"verify", in("made/all.jsonl"), "--leaks", in("shards")});
  EXPECT_EQ(leaks.code, 3);
  EXPECT_NE(leaks.err.find("s-0.tar:x/a.wav is a recording of all.jsonl:1 as well"),
            std::string::npos)
      << leaks.err;
}

TEST_F(DataCommand, EndsWith2OnWrongUsage) {
  EXPECT_EQ(data({}).code, 2);
  EXPECT_EQ(data({"make", in("a.jsonl")}).code, 2);
  EXPECT_EQ(data({"summary", in("a.jsonl"), "--threads", "0"}).code, 2);
}

}  // namespace
}  // namespace penstock::tools
