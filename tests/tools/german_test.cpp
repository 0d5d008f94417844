#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/unicode.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// The tone corpus as if its third and fourth letter were ä and ö, some of them capitals.
class German : public testing::Test {
 protected:
  German() {
    for (const char* manifest : {"train.jsonl", "validation.jsonl"}) rewrite(manifest);
  }

  void rewrite(const std::string& manifest) {
    std::istringstream lines(test::read_file(folder_.in(manifest)));
    std::string rewritten;
    characters_ = 0;
    for (std::string line; std::getline(lines, line);) {
      auto utterance = nlohmann::json::parse(line);
      std::string text;
      for (const char letter : utterance["text"].get<std::string>())
        text += letter == 'c'   ? "ä"
                : letter == 'd' ? (text.empty() ? "Ö" : "ö")
                                : std::string(1, letter);
      utterance["text"] = text;
      characters_ += decode_utf8(text).characters.size();
      rewritten += utterance.dump() + "\n";
    }
    test::write_file(folder_.in(manifest), rewritten);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::size_t characters_ = 0;  // of the validation's texts
};

TEST_F(German, IsTrainedEvaluatedAndTranscribed) {
  const auto trained = folder_.train("output", {"text.alphabet=abäö", "trainer.steps=40"});
  ASSERT_EQ(trained.code, 0) << trained.err;

  const auto evaluated =
      folder_.run({"evaluate", folder_.in("output"), folder_.in("validation.jsonl"), "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const auto rates = nlohmann::json::parse(evaluated.out);
  EXPECT_EQ(rates["characters"], characters_);
  EXPECT_LT(rates["cer"], 0.5);  // silence has 1

  const auto transcribed =
      folder_.run({"transcribe", folder_.in("output"), folder_.in("train-0.wav"),
                   folder_.in("train-1.wav"), folder_.in("train-2.wav"), "--json"});
  ASSERT_EQ(transcribed.code, 0) << transcribed.err;
  std::u32string heard;
  std::istringstream lines(transcribed.out);
  for (std::string line; std::getline(lines, line);)
    heard += decode_utf8(nlohmann::json::parse(line)["text"].get<std::string>()).characters;
  EXPECT_FALSE(heard.empty()) << transcribed.out;
  EXPECT_EQ(heard.find_first_not_of(U"abäö"), std::u32string::npos) << to_utf8(heard);
}

TEST_F(German, NamesTheLetterThatTheAlphabetLacks) {
  const auto outcome = folder_.train("output", {"text.alphabet=abä"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("'ö' (U+00F6)"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
