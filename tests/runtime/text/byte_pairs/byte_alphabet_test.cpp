#include "runtime/text/byte_pairs/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace penstock::runtime {
namespace {

TEST(ByteAlphabet, HasACharacterForEachByte) {
  std::set<char32_t> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = character_of_byte(static_cast<unsigned char>(byte));
    EXPECT_EQ(byte_of_character(character), byte);
    characters.insert(character);
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(*characters.rbegin(), U'\u0143');
}

TEST(ByteAlphabet, WritesTokens) {
  EXPECT_EQ(token_of_bytes(" é\n"), "ĠÃ©Ċ");
  EXPECT_EQ(bytes_of_token("ĠÃ©Ċ"), " é\n");
}

TEST(ByteAlphabet, LeavesOtherTokens) {
  EXPECT_EQ(bytes_of_token("an Ġ"), "an Ġ");
  EXPECT_EQ(bytes_of_token("日"), "日");
  EXPECT_THROW((void)bytes_of_token("\xff"), DataError);
}

}  // namespace
}  // namespace penstock::runtime
