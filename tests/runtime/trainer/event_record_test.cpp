#include "runtime/trainer/event_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace penstock::runtime {
namespace {

std::string in_hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// The check value of the algorithm, and the examples of RFC 3720, B.4.
TEST(Crc32c, EqualsTheExamplesOfItsSpecification) {
  std::string up;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43);
  EXPECT_EQ(crc32c(up), 0x46dd794e);
  EXPECT_EQ(crc32c(""), 0u);
}

// The bytes below are those of the message classes and the masked_crc32c() of the Python package
// tensorboard 2.21, with SerializeToString(deterministic=True).

TEST(EventRecord, FramesTheVersion) {
  EXPECT_EQ(in_hexadecimal(framed(version_event(1.5))),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
}

TEST(EventRecord, FramesARestart) {
  EXPECT_EQ(in_hexadecimal(framed(restart_event({1.5, 301}))),
            "100000000000000095fbfe1809000000000000f83f10ad023a020801d17949d4");
}

TEST(EventRecord, FramesSeveralScalarsOfAStep) {
  EXPECT_EQ(
      in_hexadecimal(framed(scalar_event({2.5, 300}, {{"train/loss", 0.5}, {"train/epoch", 3}}))),
      "3500000000000000d6c55de609000000000000044010ac022a270a110a0a747261696e2f6c6f73731500"
      "00003f0a120a0b747261696e2f65706f63681500004040ebf036de");
}

TEST(EventRecord, FramesText) {
  EXPECT_EQ(in_hexadecimal(framed(text_event({2.5, 1}, "recipe", "    a = 1\n"))),
            "39000000000000008b0737f109000000000000044010012a2c0a2a0a0672656369706542140807120412"
            "020801420a2020202061203d20310a4a0a0a060a04746578742002381eb9ce");
}

/// TensorBoard marks such a point in the curve.
TEST(EventRecord, KeepsALossThatIsNotFinite) {
  const std::string event = scalar_event({1, 1}, {{"l", std::nan("")}, {"n", HUGE_VAL}});
  EXPECT_NE(event.find(std::string("\x0a\x01l\x15\x00\x00\xc0\x7f", 8)), std::string::npos);
  EXPECT_NE(event.find(std::string("\x0a\x01n\x15\x00\x00\x80\x7f", 8)), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
