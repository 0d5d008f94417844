#include "runtime/huggingface/vocabulary.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr auto kCharacters = TokenizerKind::characters;

class VocabularyFiles : public testing::Test {
 protected:
  void write(const char* file, std::string_view text) {
    test::write_file(folder_.path() / file, text);
  }
  Vocabulary read(std::int64_t rows, std::int64_t blank, TokenizerKind kind = kCharacters) {
    return read_vocabulary(folder_.path(), {.kind = kind, .rows = rows, .blank = blank});
  }
  Vocabulary read_pieces(std::int64_t rows, std::int64_t blank, std::string_view blank_setting) {
    return read_vocabulary(folder_.path(), {TokenizerKind::pieces, rows, blank, blank_setting});
  }
  Vocabulary read_language(std::int64_t rows, std::string_view language) {
    return read_vocabulary(folder_.path(), {.rows = rows, .language = language});
  }
  std::filesystem::path path() const { return folder_.path(); }
  std::string fault(std::int64_t rows, std::int64_t blank) {
    return test::message_of<Error>([&] { (void)read(rows, blank); });
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(VocabularyFiles, AreReadWithAddedTokens) {
  write("vocab.json", R"({"b": 1, "a": 0, "_": 2})");
  write("added_tokens.json", R"({"<s>": 3})");
  write("tokenizer_config.json",
        R"({"word_delimiter_token": "_", "do_lower_case": true, "pad_token": {"content": "<p>"},
            "added_tokens_decoder": {"4": {"content": "<p>"}, "0": {"content": "a"}}})");
  const Vocabulary vocabulary = read(5, 4);
  EXPECT_EQ(vocabulary.tokens, (std::vector<std::string>{"a", "b", "_", "<s>", "<p>"}));
  EXPECT_EQ(vocabulary.space, "_");
  EXPECT_TRUE(vocabulary.lower_case);
}

// Wav2Vec2CTCTokenizer of transformers saves <s> and </s> like this where vocab.json has none.
TEST_F(VocabularyFiles, MayHaveTokensBeyondTheHead) {
  write("vocab.json", R"({"<pad>": 0, "a": 1})");
  write("added_tokens.json", R"({"<s>": 2, "</s>": 3})");
  const Vocabulary vocabulary = read(2, 0);
  EXPECT_EQ(vocabulary.tokens, (std::vector<std::string>{"<pad>", "a"}));
  EXPECT_EQ(vocabulary.beyond, (std::vector<std::string>{"<s>", "</s>"}));
}

TEST_F(VocabularyFiles, MatchTheHead) {
  write("vocab.json", R"({"a": 0, "b": 2})");
  EXPECT_NE(fault(2, 0).find("gives 'b' row 2, but the head"), std::string::npos) << fault(2, 0);
  EXPECT_NE(fault(3, 0).find("row 1 stands for none"), std::string::npos) << fault(3, 0);
  write("vocab.json", R"({"a": -1, "b": 0})");
  EXPECT_NE(fault(2, 0).find("gives 'a' row -1, but rows count from 0"), std::string::npos)
      << fault(2, 0);
  write("vocab.json", R"({"a": 0, "b": 2})");
  write("added_tokens.json", R"({"c": 1, "d": 2})");
  EXPECT_NE(fault(3, 0).find("row 2 of the head to 'b' and to 'd'"), std::string::npos);
}

TEST_F(VocabularyFiles, NameTheBlank) {
  write("vocab.json", R"({"a": 0, "<pad>": 1})");
  write("tokenizer_config.json", R"({"pad_token": "<pad>"})");
  EXPECT_EQ(fault(2, 1), "");
  EXPECT_NE(fault(2, 0).find("pad_token is '<pad>', but"), std::string::npos) << fault(2, 0);
  EXPECT_NE(fault(2, 2).find("pad_token_id is 2, but the head has 2 rows"), std::string::npos);
}

TEST_F(VocabularyFiles, TakeTheBlankFromItsOwnSetting) {
  write("tokenizer.json", R"({"model": {"vocab": {"<s>": 0, "<pad>": 1}}})");
  write("tokenizer_config.json", R"({"pad_token": "<pad>"})");
  EXPECT_EQ(read_pieces(2, 0, "blank_token_id").tokens, (std::vector<std::string>{"<s>", "<pad>"}));
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read_pieces(2, 2, "blank_token_id");
            }).find("blank_token_id is 2, but the head has 2 rows"),
            std::string::npos);
}

TEST_F(VocabularyFiles, MayNameTheFirstRowsAlone) {
  const auto read_named = [&](std::int64_t rows, bool unnamed_rows) {
    return test::message_of<CheckpointError>([&] {
      const Vocabulary vocabulary = read_vocabulary(path(), {.kind = TokenizerKind::pieces,
                                                             .rows = rows,
                                                             .blank_setting = "",
                                                             .unnamed_rows = unnamed_rows});
      EXPECT_EQ(vocabulary.tokens.size(), 2u);
    });
  };
  write("tokenizer.json", R"({"model": {"vocab": {"<s>": 0, "a": 1}},
                              "added_tokens": [{"id": 0, "content": "<s>", "special": true}]})");
  EXPECT_EQ(read_named(4, true), "");
  EXPECT_NE(read_named(4, false).find("row 2 stands for none"), std::string::npos);
  write("tokenizer.json", R"({"model": {"vocab": {"<s>": 0, "a": 2}},
                              "added_tokens": [{"id": 0, "content": "<s>", "special": true}]})");
  EXPECT_NE(read_named(4, true).find("row 1 stands for none"), std::string::npos);
}

TEST_F(VocabularyFiles, HaveNoTextInRowZeroWithoutBlank) {
  const auto fault_of = [&](const char* special) {
    write("tokenizer.json", std::string(R"({"model": {"vocab": {"<s>": 0, "a": 1}},
                          "added_tokens": [{"id": 0, "content": "<s>", "special": )") +
                                special + "}]}");
    return test::message_of<CheckpointError>([&] { (void)read_pieces(2, 0, ""); });
  };
  EXPECT_EQ(fault_of("true"), "");
  EXPECT_NE(fault_of("false").find("has the token '<s>' in row 0, which may be text"),
            std::string::npos);
}

TEST_F(VocabularyFiles, AreOfTheLanguageThatIsChosen) {
  EXPECT_NE(fault(2, 0).find("vocab.json"), std::string::npos);
  write("vocab.json", R"({"eng": {"<p>": 0, "a": 1}, "rus": {"<p>": 0, "б": 2, "в": 1}})");
  EXPECT_NE(fault(2, 0).find("for each of eng, rus, and tokenizer_config.json no target_lang: "
                             "choose one with --language eng"),
            std::string::npos)
      << fault(2, 0);
  write("tokenizer_config.json",
        R"({"target_lang": "eng", "added_tokens_decoder": {"2": {"content": "<s>"}}})");
  EXPECT_EQ(read(2, 0).tokens, (std::vector<std::string>{"<p>", "a"}));
  EXPECT_EQ(read(2, 0).beyond, (std::vector<std::string>{"<s>"}));
  EXPECT_EQ(read(2, 0).language, "eng");
  // The token that was added to the other vocabulary gives way to this one's own of the same row.
  EXPECT_EQ(read_language(3, "rus").tokens, (std::vector<std::string>{"<p>", "в", "б"}));
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read_language(3, "deu");
            }).find("no vocabulary for the language 'deu', only for eng, rus"),
            std::string::npos);
  write("vocab.json", R"({"<p>": 0, "a": 1})");
  EXPECT_NE(fault(2, 0).find("has one vocabulary, and not one for the language 'eng'"),
            std::string::npos);
}

TEST_F(VocabularyFiles, HaveTheirFaultsNamed) {
  const auto expect_fault = [&](const char* what) {
    EXPECT_NE(fault(1, 0).find(what), std::string::npos) << fault(1, 0);
  };
  write("vocab.json", R"({"a": 0.4})");
  expect_fault("vocab.json: gives 'a' row 0.4, which is no whole number");
  write("vocab.json", R"({"a": 0})");
  write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  expect_fault("tokenizer_config.json: is no tokenizer that penstock reads");
  write("tokenizer_config.json", R"({"pad_token": 5})");
  expect_fault("tokenizer_config.json: is no tokenizer that penstock reads");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"0x": {"content": "a"}}})");
  expect_fault("added_tokens_decoder has '0x', which is no row's number");
  write("tokenizer_config.json", "{}");
  write("added_tokens.json", "[1");
  expect_fault("added_tokens.json: can't be read as JSON");
}

TEST_F(VocabularyFiles, MayHoldPieces) {
  write("tokenizer.json", R"({"model": {"vocab": [["<unk>", 0], ["▁a", -1.5]]},
                              "added_tokens": [{"id": 2, "content": "<pad>"}]})");
  EXPECT_EQ(read(3, 2, TokenizerKind::pieces).tokens,
            (std::vector<std::string>{"<unk>", "▁a", "<pad>"}));
  write("tokenizer.json", R"({"model": {"vocab": {"b": 1, "a": 0}}})");
  EXPECT_EQ(read(2, 0, TokenizerKind::pieces).tokens, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace penstock::runtime
