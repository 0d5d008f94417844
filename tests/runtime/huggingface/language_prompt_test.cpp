#include "runtime/huggingface/language_prompt.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

const std::vector<std::string_view> kTokens = {"<mark>", "<|lang:{}|>"};

std::string fault(const std::vector<std::string>& tokens, const std::string& language) {
  return test::message_of<CheckpointError>(
      [&] { (void)language_prompt(kTokens, {.tokens = tokens}, language, "a folder"); });
}

TEST(LanguagePrompt, HasTheRowsOfItsTokens) {
  const Vocabulary vocabulary{.tokens = {"<s>", "<|lang:eng_latn|>", "<mark>", "<|lang:auto|>"}};
  EXPECT_EQ(language_prompt(kTokens, vocabulary, "auto", "a folder"), (std::vector<int>{2, 3}));
  EXPECT_EQ(language_prompt(kTokens, vocabulary, "eng_Latn", "a folder"), (std::vector<int>{2, 1}));
}

TEST(LanguagePrompt, NamesWhatIsMissing) {
  EXPECT_EQ(
      fault({"<|lang:x|>"}, "x"),
      "a folder/tokenizer.json: has no row for '<mark>', a token of the prompt: save the "
      "tokenizer of the model into the folder, or, of a language model, leave --language out");
  EXPECT_EQ(fault({"<mark>", "<|lang:|>", "<|lang:y|>"}, "x"),
            "a folder/tokenizer.json: has no row for '<|lang:x|>': choose with --language among "
            "the 1 that it has, such as y");
  EXPECT_EQ(fault({"<mark>"}, "x"),
            "a folder/tokenizer.json: has no row for '<|lang:x|>', nor for any other language: "
            "leave --language out for a model without a prompt");
  std::vector<std::string> many{"<mark>"};
  for (const char letter : std::string("abcdefghijk"))
    many.push_back(std::string("<|lang:") + letter + "|>");
  EXPECT_TRUE(fault(many, "x").ends_with("among the 11 that it has, such as a b c d e f g h"));
}

}  // namespace
}  // namespace penstock::runtime
