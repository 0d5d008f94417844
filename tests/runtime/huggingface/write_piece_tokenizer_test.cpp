#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/piece_model.h"
#include "runtime/huggingface/write_tokenizer.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

std::string model_file(const std::string& name) {
  return test::read_file(test::source("tests/golden/pieces/" + name + ".model"));
}

// tests/tools/piece_round_trip.py compares it with tokenizers itself.
TEST(PieceTokenizer, IsReadAsTheModelThatItIs) {
  configs::TextConfig text;
  text.kind = "sentencepiece";
  for (const char* name : {"unigram", "bpe", "rules"})
    for (const std::int64_t blank : {0, 3, 90}) {
      const test::TemporaryFolder folder;
      const SentencePieces theirs(model_file(name), text);
      const std::int64_t rows = theirs.labels();
      const std::int64_t at = std::min(blank, rows - 1);
      write_piece_tokenizer(folder.path(), model_file(name), {rows, at});
      const Vocabulary vocabulary =
          read_vocabulary(folder.path(), {TokenizerKind::pieces, rows, at});
      EXPECT_EQ(vocabulary.tokens[static_cast<std::size_t>(at)], "<pad>");
      const SentencePieces again(to_model_bytes(model_of_tokenizer(folder.path(), vocabulary, at)),
                                 text);
      EXPECT_EQ(again.pieces(), theirs.pieces());
      for (const char* sentence : {"the other mother", "sea shells by the shore", "straße"}) {
        const auto labels = theirs.encode(sentence);
        EXPECT_EQ(again.encode(sentence), labels) << name;
        EXPECT_EQ(again.decode(labels), theirs.decode(labels)) << name;
      }
      EXPECT_EQ(test::read_file(folder.path() / "tokenizer.model"), model_file(name));
    }
}

TEST(PieceTokenizer, NamesRowsThatThePiecesLeaveFree) {
  const test::TemporaryFolder folder;
  write_piece_tokenizer(folder.path(), model_file("unigram"), {84, 83});
  const Vocabulary vocabulary = read_vocabulary(folder.path(), {TokenizerKind::pieces, 84, 83});
  EXPECT_EQ(vocabulary.tokens[80], "<81>");
  EXPECT_EQ(vocabulary.tokens[82], "<83>");
  EXPECT_EQ(vocabulary.tokens[83], "<pad>");
}

TEST(PieceTokenizer, RefusesModelsThatItCannotSay) {
  const test::TemporaryFolder folder;
  ModelProto model = parse_model_bytes(model_file("unigram"));
  model.spaces_after_words = true;
  EXPECT_NE(test::message_of<ConfigError>([&] {
              write_piece_tokenizer(folder.path(), to_model_bytes(model), {81, 80});
            }).find("puts spaces after words"),
            std::string::npos);
  model.spaces_after_words = false;
  model.pieces.back().text = "\xff";
  EXPECT_NE(test::message_of<ConfigError>([&] {
              write_piece_tokenizer(folder.path(), to_model_bytes(model), {81, 80});
            }).find("has a piece that is not UTF-8"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace penstock::runtime
