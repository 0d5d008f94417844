#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A language model as decoder that has learned a little, with low-rank adapters besides.
class LanguageModel : public testing::Test {
 protected:
  LanguageModel() {
    const auto outcome = folder_.train(
        "output",
        {"model.decoder=lm", "decoder.width=12", "decoder.layers=2", "decoder.heads=2",
         "decoder.inner=10", "lora.rank=2", R"(lora.targets=["decoder.*.qkv"])",
         R"(lora.train=["output.*", "decoder.text.*", "decoder.output.*"])", "trainer.steps=12"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
  }

  /// Returns the texts of the validation set, as `evaluate` hears them.
  std::vector<std::string> evaluated(const std::string& name, std::vector<std::string> more,
                                     test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"evaluate", folder_.in("output"), folder_.in("validation.jsonl"),
                               "--results", folder_.in(name)});
    const auto outcome = folder_.run(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return texts(test::read_file(folder_.in(name)), "hypothesis");
  }
  static std::vector<std::string> texts(const std::string& lines, const char* field) {
    std::vector<std::string> texts;
    std::istringstream from(lines);
    for (std::string line; std::getline(from, line);)
      texts.push_back(nlohmann::json::parse(line).at(field));
    return texts;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

// An evaluation reads texts, and a transcription has none: both write the same.
TEST_F(LanguageModel, WritesTheSameTextsOnAllRanks) {
  const std::vector<std::string> alone = evaluated("alone", {});
  EXPECT_EQ(alone.size(), 7u);
  EXPECT_NE(alone, std::vector<std::string>(7));
  EXPECT_EQ(evaluated("stages", {}, {3}), alone);
  EXPECT_EQ(evaluated("grid", {"--replicas", "2"}, {4}), alone);
  for (const int ranks : {1, 3}) {
    const auto transcribed = folder_.run({"transcribe", folder_.in("output"), "--manifest",
                                          folder_.in("validation.jsonl"), "--json"},
                                         {ranks});
    EXPECT_EQ(texts(transcribed.out, "text"), alone) << transcribed.err;
  }
}

TEST_F(LanguageModel, SearchesAlikeOnAllRanks) {
  const std::vector<std::string> greedy = evaluated("greedy", {}),
                                 beam = evaluated("beam", {"--beam", "4"});
  EXPECT_NE(beam, greedy);
  EXPECT_EQ(evaluated("one", {"--beam", "1"}), greedy);
  EXPECT_NE(evaluated("sums", {"--beam", "4", "--length-penalty", "0"}), beam);
  EXPECT_EQ(evaluated("stages", {"--beam", "4", "--length-penalty", "1"}, {3}), beam);
  EXPECT_EQ(evaluated("grid", {"--beam", "4", "--replicas", "2"}, {4}), beam);
  const auto transcribed = folder_.run({"transcribe", folder_.in("output"), "--manifest",
                                        folder_.in("validation.jsonl"), "--beam", "4", "--json"});
  EXPECT_EQ(texts(transcribed.out, "text"), beam) << transcribed.err;
}

TEST_F(LanguageModel, RefusesWhatItHasNot) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words = {"transcribe", folder_.in("output"),
                                      folder_.in("train-0.wav")};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  refused({"--logits", folder_.in("logits.safetensors")}, "lm, which has no logits of frames");
  refused({"--beam", "0"}, "takes a whole number from 1 to 100, not 0");
  refused({"--beam", "4", "--length-penalty", "nan"}, "--length-penalty");
  refused({"--length-penalty", "2"}, "greedy decoding compares no texts");
  refused({"--beam", "4", "--ctc-weight", "0.5"}, "trained no CTC beside its decoder lm");
  refused({"--beam", "4", "--ctc-weight", "1.5"}, "takes a number from 0 to 1, not 1.5");
  refused({"--decoder", "ctc"}, "its model has no decoder ctc: it decodes by lm");
}

}  // namespace
}  // namespace penstock::tools
