#include "runtime/text/byte_pairs/folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/text/byte_pairs/model.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;

/// A copy of the golden folder of Whisper's older files.
class BytePairFolder : public testing::Test {
 protected:
  BytePairFolder() {
    fs::copy(test::source("tests/golden/byte_pairs/whisper-files"), folder_.path());
  }
  void write(const char* name, std::string_view text) const {
    test::write_file(folder_.path() / name, text);
  }
  BytePairModel model() const { return parse_byte_pairs(byte_pairs_at(folder_.path())); }
  std::string fault() const {
    return message_of<DataError>([&] { (void)byte_pairs_at(folder_.path()); });
  }

  const test::TemporaryFolder folder_;
};

TEST_F(BytePairFolder, HoldsWhatTokenizerJsonHolds) {
  const BytePairModel older = model();
  const BytePairModel newer =
      parse_byte_pairs(byte_pairs_at(test::source("tests/golden/byte_pairs/whisper.json")));
  EXPECT_EQ(older.tokens, newer.tokens);
  EXPECT_EQ(older.merges, newer.merges);
  EXPECT_EQ(older.added.size(), newer.added.size());
}

TEST_F(BytePairFolder, TokenizerJsonComesFirst) {
  write("tokenizer.json", "some text");
  EXPECT_EQ(byte_pairs_at(folder_.path()), "some text");
}

TEST_F(BytePairFolder, TakesTokensThatWereAdded) {
  write("tokenizer_config.json", R"({"tokenizer_class": "GPT2TokenizerFast"})");
  write("added_tokens.json", R"({"<|endoftext|>": 600, "<|de|>": 607})");
  const BytePairModel found = model();
  ASSERT_EQ(found.added.size(), 2u);
  EXPECT_EQ(found.added[1].text, "<|de|>");
  EXPECT_EQ(found.added[1].id, 607);
  EXPECT_TRUE(found.added[1].special);
  EXPECT_EQ(found.tokens.size(), 608u);
}

TEST_F(BytePairFolder, NamesClassesThatItLacks) {
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  EXPECT_NE(fault().find("tokenizer_class is 'LlamaTokenizer', but vocab.json and merges.txt are "
                         "read for WhisperTokenizer, GPT2Tokenizer and Qwen2Tokenizer"),
            std::string::npos);
}

TEST_F(BytePairFolder, NamesTheLineOfAWrongMerge) {
  write("merges.txt", "#version: 0.2\na b\na b c\n");
  EXPECT_EQ(fault(), (folder_.path() / "merges.txt").string() +
                         ":3: is no merge, which is two tokens of UTF-8 with a space between them");
  write("merges.txt", "a \xff\n");
  EXPECT_NE(fault().find(":1: is no merge"), std::string::npos);
}

TEST_F(BytePairFolder, NamesFilesThatAreWrong) {
  write("vocab.json", "[");
  EXPECT_NE(fault().find("vocab.json: can't be read as JSON"), std::string::npos);
  write("vocab.json", R"({"a": "b"})");
  EXPECT_NE(fault().find("'a' has the id \"b\""), std::string::npos);
  write("vocab.json", R"({"a": 600})");
  EXPECT_NE(fault().find("the id 600 is that of 'a' and of '<|endoftext|>'"), std::string::npos);
  fs::remove(folder_.path() / "vocab.json");
  EXPECT_THROW((void)byte_pairs_at(folder_.path()), FileError);
}

}  // namespace
}  // namespace penstock::runtime
