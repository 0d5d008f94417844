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

TEST_F(LanguageModel, RefusesLogitsAndBeams) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words = {"transcribe", folder_.in("output"),
                                      folder_.in("train-0.wav")};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  refused({"--logits", folder_.in("logits.safetensors")}, "lm, which has no logits of frames");
  refused({"--beam", "4"}, "its decoder is lm, and only transducers have a beam search so far");
  refused({"--decoder", "ctc"}, "its model has no decoder ctc: it decodes by lm");
}

}  // namespace
}  // namespace penstock::tools
