#include "configs/codec.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

AugmentConfig passing(std::vector<std::string> codecs) {
  AugmentConfig augment;
  augment.codecs = std::move(codecs);
  return augment;
}

TEST(ParseCodecs, ReadsThemInTheirOrder) {
  const auto codecs = parse_codecs(
      passing({"opus-12", "g711-mulaw", "band-300-3400.5", "gsm", "g711-alaw"}), 16000);
  ASSERT_EQ(codecs.size(), 5u);
  EXPECT_EQ(codecs[0], (Codec{.kind = Codec::Kind::opus, .kbits = 12}));
  EXPECT_EQ(codecs[1], (Codec{.kind = Codec::Kind::mulaw}));
  EXPECT_EQ(codecs[2], (Codec{.kind = Codec::Kind::band, .low = 300, .high = 3400.5}));
  EXPECT_EQ(codecs[3], (Codec{.kind = Codec::Kind::gsm}));
  EXPECT_EQ(codecs[4], (Codec{.kind = Codec::Kind::alaw}));
  EXPECT_TRUE(parse_codecs({}, 8000).empty());
}

TEST(ParseCodecs, NamesEveryEntryThatIsNone) {
  const std::vector<std::string> wrong = {
      "mp3",         "opus",      "opus-",    "opus-5",        "opus-511",
      "opus-12k",    "opus-12.5", "band-300", "band-3400-300", "band-300-8001",
      "band--1-300", "band-a-b",  "band-0-0", "GSM",           ""};
  const std::string message =
      test::message_of<ConfigError>([&] { (void)parse_codecs(passing(wrong), 16000); });
  for (const std::string& entry : wrong)
    EXPECT_NE(message.find("augment.codecs has \"" + entry + "\""), std::string::npos) << entry;
  EXPECT_NE(message.find("up to 8000"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::configs
