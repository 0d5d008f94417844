#include "base/base64.h"

#include <gtest/gtest.h>

#include <array>

namespace penstock {
namespace {

// The examples of RFC 4648.
TEST(Base64, IsThatOfTheStandard) {
  const std::array<std::array<std::string, 2>, 7> cases = {{{"", ""},
                                                            {"f", "Zg=="},
                                                            {"fo", "Zm8="},
                                                            {"foo", "Zm9v"},
                                                            {"foob", "Zm9vYg=="},
                                                            {"fooba", "Zm9vYmE="},
                                                            {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, HoldsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t size : {254, 255, 256})
    EXPECT_EQ(from_base64(to_base64(bytes.substr(0, size))), bytes.substr(0, size));
}

TEST(Base64, RefusesOtherTexts) {
  for (const char* text : {"Zg=", "Zg", "Z", "Zm9*", "====", "Zm=v"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace penstock
