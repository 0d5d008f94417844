#include "runtime/text/byte_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;
using test::message_of;

configs::TextConfig golden_text(const std::string& name) {
  configs::TextConfig text;
  text.kind = "bpe";
  text.model = test::source("tests/golden/byte_pairs/" + name).string();
  text.fold = "none";
  return text;
}

TEST(BytePairs, IdsAreLabelsFromOne) {
  const BytePairs pairs(golden_text("qwen2.json"));
  EXPECT_EQ(pairs.labels(), 606);
  EXPECT_EQ(pairs.encode("!"), Labels{1});
  EXPECT_EQ(pairs.encode("<|endoftext|>"), Labels{601});
  EXPECT_EQ(pairs.vocabulary()[1].written, "!");
}

TEST(BytePairs, EveryFormGivesEqualLabels) {
  const std::string text = "It's the Morning of 1984, 東京 ½!";
  const BytePairs json(golden_text("whisper.json")), files(golden_text("whisper-files"));
  EXPECT_EQ(json.encode(text), files.encode(text));
  EXPECT_EQ(BytePairs(std::string(files.model()), {}).encode("it's"), json.encode("it's"));
}

TEST(BytePairs, AppliesTheRulesOfTextFirst) {
  configs::TextConfig text = golden_text("whisper.json");
  text.fold = "lower";
  text.remove = ",";
  EXPECT_EQ(BytePairs(text).normalised("  The\n SUN, up "), "the sun up");
}

TEST(BytePairs, NormalisedTextHasTheModelsForm) {
  EXPECT_EQ(BytePairs(golden_text("qwen2.json")).normalised("e\u0301"), "\u00e9");
  EXPECT_EQ(BytePairs(golden_text("whisper.json")).normalised("e\u0301"), "e\u0301");
  EXPECT_EQ(BytePairs(golden_text("prefix-gaps.json")).normalised("a b"), "a b");
}

TEST(BytePairs, SymbolsDecodeToNothing) {
  const BytePairs pairs(golden_text("whisper.json"));
  const Labels text = pairs.encode("<|en|><|0.02|> a\nb<|0.04|><|endoftext|>");
  EXPECT_EQ(pairs.decode(text), "a b");
  Labels spaced{kNoText};
  for (const std::int32_t label : text) spaced.insert(spaced.end(), {label, kNoText});
  EXPECT_EQ(pairs.decode(spaced), "a b");
}

TEST(BytePairs, VocabularyHasTheTextOfTokens) {
  const BytePairs pairs(golden_text("prefix-gaps.json"));
  const std::vector<Label> all = pairs.vocabulary();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(pairs.labels()));
  EXPECT_EQ(all[0].written, "");
  std::set<Label> different(all.begin(), all.end());
  EXPECT_EQ(different.size(), all.size());
  const auto text_of = [&](std::string_view token) {
    return std::ranges::find(all, token, &Label::written)->text;
  };
  EXPECT_EQ(text_of("Ġthe"), " the");
  EXPECT_EQ(text_of("Ã"), "");  // a part of a character
  EXPECT_EQ(text_of("<|endoftext|>"), "");
  EXPECT_EQ(text_of("<asr_text>"), "<asr_text>");
  EXPECT_EQ(all[301].written, "<300>");
  EXPECT_EQ(all[301].text, "");
}

TEST(BytePairs, RejectsLabelsThatItLacks) {
  const BytePairs pairs(golden_text("qwen2.json"));
  EXPECT_EQ(message_of<DataError>([&] { (void)pairs.decode(Labels{606}); }),
            "label 606 is none of the 606 of text.model");
  EXPECT_THROW((void)pairs.decode(Labels{-1}), DataError);
  EXPECT_THROW((void)pairs.encode("a\xff"), DataError);
}

TEST(BytePairs, NamesWhatIsNoModel) {
  const auto fault = [](const configs::TextConfig& text) {
    return message_of<ConfigError>([&] { (void)BytePairs(text); });
  };
  const std::string missing = fault(golden_text("none.json"));
  EXPECT_NE(missing.find("it must name the tokenizer.json of a byte-level BPE"), std::string::npos);
  EXPECT_NE(fault(golden_text("cases.jsonl")).find("parse error"), std::string::npos);
  EXPECT_NE(fault(golden_text(".")).find("vocab.json"), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
