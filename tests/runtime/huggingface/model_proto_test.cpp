#include "runtime/huggingface/model_proto.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

std::string golden_model(const char* name) {
  return test::read_file(test::source(std::string("tests/golden/pieces/") + name + ".model"));
}

// SentencePiece itself wrote them.
TEST(ModelProto, ReadsModelsOfSentencePiece) {
  const ModelProto bpe = parse_model_bytes(golden_model("bpe"));
  EXPECT_TRUE(bpe.bpe);
  EXPECT_EQ(bpe.pieces.size(), 90u);
  EXPECT_EQ(bpe.pieces[0].type, PieceType::unknown);
  EXPECT_LT(bpe.pieces[2].score, bpe.pieces[1].score);
  EXPECT_TRUE(bpe.dummy_prefix);
  EXPECT_TRUE(bpe.charsmap.empty());
  const ModelProto rules = parse_model_bytes(golden_model("rules"));
  EXPECT_FALSE(rules.bpe);
  EXPECT_FALSE(rules.dummy_prefix);
  EXPECT_FALSE(rules.charsmap.empty());
  EXPECT_EQ(rules.pieces[0].type, PieceType::control);
  EXPECT_EQ(rules.pieces[2].type, PieceType::unknown);
}

TEST(ModelProto, WritesWhatSentencePieceReads) {
  for (const char* name : {"unigram", "bpe", "rules"}) {
    configs::TextConfig text;
    text.kind = "sentencepiece";
    const std::string bytes = golden_model(name);
    const SentencePieces theirs(bytes, text);
    const SentencePieces ours(to_model_bytes(parse_model_bytes(bytes)), text);
    EXPECT_EQ(ours.pieces(), theirs.pieces());
    for (const char* sentence : {"the cat sat on the mat", "she sells sea shells", "groß, weg"}) {
      EXPECT_EQ(ours.encode(sentence), theirs.encode(sentence)) << name;
      EXPECT_EQ(ours.normalised(sentence), theirs.normalised(sentence)) << name;
    }
  }
}

TEST(ModelProto, GivesEveryFieldBack) {
  ModelProto model{.pieces = {{"a", -0.5F, PieceType::byte}, {"", 300, PieceType::user_defined}},
                   .bpe = true,
                   .byte_fallback = true,
                   .charsmap = std::string("\0\xff", 2),
                   .dummy_prefix = false,
                   .remove_extra_spaces = false,
                   .escape_spaces = false,
                   .spaces_after_words = true};
  const ModelProto again = parse_model_bytes(to_model_bytes(model));
  ASSERT_EQ(again.pieces.size(), 2u);
  EXPECT_EQ(again.pieces[0].score, -0.5F);
  EXPECT_EQ(again.pieces[1].score, 300);
  EXPECT_EQ(again.pieces[1].type, PieceType::user_defined);
  EXPECT_TRUE(again.bpe && again.byte_fallback && again.spaces_after_words);
  EXPECT_FALSE(again.dummy_prefix || again.remove_extra_spaces || again.escape_spaces);
  EXPECT_EQ(again.charsmap, model.charsmap);
}

TEST(ModelProto, RefusesOtherBytes) {
  const std::string bytes = golden_model("bpe");
  for (const std::string& broken : {bytes.substr(0, 40), std::string("\x0a"), std::string("\x0b"),
                                    std::string(12, '\xff'), std::string("\x12\x02\x18\x03")})
    EXPECT_THROW((void)parse_model_bytes(broken), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
