#include "runtime/onnx/token_file.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::runtime {
namespace {

TEST(TokenFile, NamesEveryRowInOrder) {
  const std::vector<Label> letters = {{}, {" ", " "}, {"é", "é"}};
  EXPECT_EQ(token_lines(letters, 5), "<blk> 0\n▁ 1\né 2\n<3> 3\n<4> 4\n");
}

TEST(TokenFile, MarksTheSpaceBeforeAPiece) {
  const std::vector<Label> pieces = {{}, {"▁the", " the"}, {"re", "re"}, {"<unk>", ""}};
  EXPECT_EQ(token_lines(pieces, 4), "<blk> 0\n▁the 1\nre 2\n<unk> 3\n");
}

TEST(TokenFile, HasNoWhiteSpaceWithinASymbol) {
  const std::vector<Label> tokens = {{}, {"Ċ", "\n"}, {"a b", ""}, {"\t", "\t"}};
  EXPECT_EQ(token_lines(tokens, 4), "<blk> 0\nĊ 1\na▁b 2\n<3> 3\n");
}

}  // namespace
}  // namespace penstock::runtime
