#include "runtime/huggingface/suppressed_tokens.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A head of 12 rows, of which row 7 ends texts.
constexpr LabelRows kHead{12, 7};

class SuppressedTokens : public testing::Test {
 protected:
  layers::DecoderOptions taken(const std::string& generation, const Settings& config = {}) const {
    FolderSettings settings;
    settings.folder = folder_.path();
    settings.config_file = folder_.path() / "config.json";
    settings.config = config;
    if (!generation.empty())
      test::write_file(folder_.path() / "generation_config.json", generation);
    layers::DecoderOptions decoder;
    set_suppressed(whisper_for_conditional_generation(), settings, kHead, decoder);
    return decoder;
  }

  test::TemporaryFolder folder_;
};

using Ids = std::vector<int>;

// Rows before that of the end move by one, and transformers passes over rows that it lacks.
TEST_F(SuppressedTokens, BecomeLabelsOfRows) {
  const auto decoder = taken(R"({"suppress_tokens": [3, 7, 8, 12, 50000],
                                 "begin_suppress_tokens": [6, 7]})");
  EXPECT_EQ(decoder.suppress, (Ids{4, 0, 8}));
  EXPECT_EQ(decoder.begin_suppress, (Ids{7, 0}));
  EXPECT_EQ(suppression_settings(decoder, kHead),
            (Settings{{"begin_suppress_tokens", "[6,7]"}, {"suppress_tokens", "[3,7,8]"}}));
}

TEST_F(SuppressedTokens, OfAFolderAreInOneFile) {
  const Settings config = {{"suppress_tokens", "[1]"}};
  EXPECT_EQ(taken("", config).suppress, Ids{2});
  EXPECT_EQ(taken("", {{"begin_suppress_tokens", "null"}}).begin_suppress, Ids{});
  EXPECT_EQ(taken("{}", config).suppress, Ids{});
  EXPECT_TRUE(suppression_settings({}, kHead).empty());
}

// Whisper's own default names rows of its vocabulary.
TEST_F(SuppressedTokens, HaveADefaultWithoutFiles) {
  FolderSettings settings;
  settings.folder = folder_.path();
  layers::DecoderOptions decoder;
  set_suppressed(whisper_for_conditional_generation(), settings, {51865, 50257}, decoder);
  EXPECT_EQ(decoder.begin_suppress, (Ids{221, 50257}));
  set_suppressed(canary_for_conditional_generation(), settings, {51865, 50257}, decoder);
  EXPECT_EQ(decoder.begin_suppress, Ids{});
}

TEST_F(SuppressedTokens, ChangeOnlyWhereKeysDo) {
  const Settings theirs = {{"suppress_tokens", "[3, 50000]"}, {"begin_suppress_tokens", "null"}};
  layers::DecoderOptions decoder;
  decoder.suppress = {4};
  EXPECT_TRUE(suppression_changes(decoder, kHead, theirs).empty());
  decoder.begin_suppress = {0};
  EXPECT_EQ(suppression_changes(decoder, kHead, theirs),
            (Settings{{"begin_suppress_tokens", "[7]"}}));
}

TEST_F(SuppressedTokens, MustBeListsOfRows) {
  for (const char* wrong : {"5", "\"3\"", "[1, -1]", "[1.5]", "[\"a\"]"})
    EXPECT_NE(test::message_of<CheckpointError>([&] {
                (void)taken(std::string(R"({"suppress_tokens": )") + wrong + "}");
              }).find("generation_config.json: suppress_tokens has "),
              std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace penstock::runtime
