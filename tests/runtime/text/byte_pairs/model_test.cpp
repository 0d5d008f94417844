#include "runtime/text/byte_pairs/model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/text/byte_pairs/folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::json;

Json golden(const std::string& name = "qwen2.json") {
  return Json::parse(byte_pairs_at(test::source("tests/golden/byte_pairs/" + name)));
}

std::string fault(const Json& json) {
  return test::message_of<DataError>([&] { (void)parse_byte_pairs(json.dump()); });
}

TEST(BytePairModel, ReadsStepsAndTokens) {
  const BytePairModel model = parse_byte_pairs(golden().dump());
  EXPECT_EQ(model.split, WordSplit::qwen2);
  EXPECT_TRUE(model.composes);
  EXPECT_FALSE(model.prefix_space);
  EXPECT_EQ(model.tokens.size(), 605u);
  EXPECT_EQ(model.added.size(), 5u);
  EXPECT_EQ(model.tokens[static_cast<std::size_t>(model.added[0].id)], "<|endoftext|>");
  const BytePairModel other = parse_byte_pairs(golden("prefix-gaps.json").dump());
  EXPECT_EQ(other.split, WordSplit::gpt2);
  EXPECT_TRUE(other.prefix_space);
  EXPECT_EQ(other.tokens[300], "");
  EXPECT_EQ(other.merges.size(), 344u);
}

TEST(BytePairModel, IsWrittenAsItIsRead) {
  for (const char* name : {"qwen2.json", "whisper.json", "prefix-gaps.json"}) {
    BytePairModel model = parse_byte_pairs(golden(name).dump());
    model.whole_words = true;
    const BytePairModel again = parse_byte_pairs(to_tokenizer_json(model));
    EXPECT_EQ(again.tokens, model.tokens);
    EXPECT_EQ(again.merges, model.merges);
    EXPECT_EQ(again.split, model.split);
    EXPECT_EQ(again.composes, model.composes);
    EXPECT_EQ(again.prefix_space, model.prefix_space);
    EXPECT_TRUE(again.whole_words);
    ASSERT_EQ(again.added.size(), model.added.size());
    for (std::size_t i = 0; i < model.added.size(); ++i) {
      EXPECT_EQ(again.added[i].text, model.added[i].text);
      EXPECT_EQ(again.added[i].id, model.added[i].id);
      EXPECT_EQ(again.added[i].special, model.added[i].special);
      EXPECT_EQ(again.added[i].normalized, model.added[i].normalized);
      EXPECT_EQ(again.added[i].takes_spaces_before, model.added[i].takes_spaces_before);
      EXPECT_EQ(again.added[i].takes_spaces_after, model.added[i].takes_spaces_after);
    }
  }
}

TEST(BytePairModel, NamesStepsThatItLacks) {
  const auto changed = [](const char* pointer, const Json& value) {
    Json json = golden();
    json[Json::json_pointer(pointer)] = value;
    return fault(json);
  };
  EXPECT_EQ(changed("/model/type", "Unigram"), "its model is \"Unigram\"; penstock reads BPE");
  EXPECT_EQ(changed("/model/dropout", 0.1), "its model.dropout is 0.1; penstock reads null");
  EXPECT_EQ(changed("/model/end_of_word_suffix", "</w>"),
            "its model.end_of_word_suffix is \"</w>\"; penstock reads null");
  EXPECT_EQ(changed("/normalizer", {{"type", "NFKC"}}),
            "its normalizer is {\"type\":\"NFKC\"}; penstock reads NFC, or none");
  EXPECT_EQ(changed("/decoder", nullptr), "its decoder is null; penstock reads ByteLevel");
  const std::string split = changed("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\s+");
  EXPECT_NE(split.find("penstock reads ByteLevel with GPT-2's expression"), std::string::npos);
  EXPECT_NE(changed("/added_tokens/0/single_word", true).find("none with single_word"),
            std::string::npos);
}

TEST(BytePairModel, NamesTokensThatItLacks) {
  Json json = golden();
  json["model"]["vocab"].erase("!");
  EXPECT_EQ(fault(json),
            "it has no token '!' for the byte 0x21, so some texts would have no labels");
  json = golden();
  json["model"]["merges"].push_back("a zzz");
  EXPECT_EQ(fault(json), "its merge of 'a' and 'zzz' needs 'zzz', which is no token");
  json = golden();
  json["model"]["merges"].push_back("a b c");
  EXPECT_EQ(fault(json),
            "its merge is \"a b c\"; penstock reads two tokens, as \"a b\" or [\"a\", \"b\"]");
}

TEST(BytePairModel, NamesIdsThatAreWrong) {
  Json json = golden();
  json["model"]["vocab"]["!"] = 1;
  EXPECT_EQ(fault(json), "it gives the id 1 to '!' and to '\"'");
  json["model"]["vocab"]["!"] = 1 << 20;
  EXPECT_EQ(fault(json), "it gives '!' the id 1048576; ids are whole numbers below 1048576");
  json = golden();
  json["added_tokens"][0]["id"] = 700;
  json["added_tokens"][1]["content"] = "<|endoftext|>";
  EXPECT_EQ(fault(json), "it gives '<|endoftext|>' the ids 601 and 700");
}

TEST(BytePairModel, NamesWhatIsNoTokenizer) {
  EXPECT_NE(fault(Json::array()).find("it is no tokenizer.json of byte-level BPE: "),
            std::string::npos);
  EXPECT_NE(test::message_of<DataError>([] { (void)parse_byte_pairs("{"); }).find("parse error"),
            std::string::npos);
  EXPECT_EQ(test::message_of<DataError>(
                [] { (void)parse_byte_pairs(std::string(300, '[') + std::string(300, ']')); }),
            "its values nest deeper than 128");
}

TEST(BytePairModel, IsTellable) {
  EXPECT_TRUE(has_byte_pairs(golden().dump()));
  EXPECT_FALSE(has_byte_pairs(
      test::read_file(test::source("tests/golden/piece_tokenizers/bytes-bpe.json"))));
  EXPECT_FALSE(has_byte_pairs("[1]"));
  EXPECT_FALSE(has_byte_pairs("{"));
}

}  // namespace
}  // namespace penstock::runtime
