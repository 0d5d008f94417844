#include "runtime/decoding/ctc_decoding.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

std::unique_ptr<const Tokenizer> letters(const std::string& alphabet) {
  configs::TextConfig config;
  config.alphabet = alphabet;
  return make_tokenizer(config);
}

layers::Decoder decoder(const Tokenizer& tokenizer, int beam, const CtcDecoding& decoding,
                        std::int64_t first = 0) {
  return CtcBeamDecoders(tokenizer, beam, decoding, first).decoder();
}

// Two frames: "a" or "b", then a blank. Two columns come before CTC's.
const std::vector<float> kFrames = {9, 9, 0, 0, 4, 3, 9, 9, 5, 0, 0, 0};

TEST(CtcDecoding, SearchesInTheColumnsOfCtc) {
  const auto tokenizer = letters("ab ");
  const std::vector<float> columns = {0, 0, 4, 3, 5, 0, 0, 0};
  const auto whole = decoder(*tokenizer, 4, {}, 2)(kFrames, 6, 4);
  EXPECT_EQ(whole, decoder(*tokenizer, 4, {})(columns, 4, 4));
  EXPECT_EQ(tokenizer->decode(whole.front().labels), "b");
  EXPECT_THROW((void)decoder(*tokenizer, 4, {}, 2)(kFrames, 2, 4), ShapeError);
}

TEST(CtcDecoding, PrunesByItsNumbers) {
  const auto tokenizer = letters("ab ");
  const auto count = [&](const CtcDecoding& decoding) {
    return decoder(*tokenizer, 9, decoding, 2)(kFrames, 6, 4).size();
  };
  EXPECT_GT(count({}), 1u);
  EXPECT_EQ(count({.label_floor = 0}), 1u);
  EXPECT_EQ(count({.score_range = 0}), 1u);
}

TEST(CtcDecoding, HasAnIdentityOfWhatIsSet) {
  test::TemporaryFolder folder;
  const auto model = folder.path() / "model.arpa";
  test::write_file(model, "one");
  EXPECT_EQ(CtcDecoding().identity(), CtcDecoding{.label_floor = -5}.identity());
  EXPECT_NE(CtcDecoding().identity(), CtcDecoding{.label_floor = -4}.identity());
  EXPECT_EQ(CtcDecoding().first_option(), "");
  EXPECT_EQ(CtcDecoding{.word_score = 2}.first_option(), "--word-score");
  const CtcDecoding decoding{.lm = model};
  EXPECT_EQ(decoding.identity(), (CtcDecoding{.lm = model, .lm_weight = 0.5}.identity()));
  EXPECT_NE(decoding.identity(), (CtcDecoding{.lm = model, .lm_weight = 2}.identity()));
  EXPECT_NE(decoding.identity(), (CtcDecoding{.lm = model, .word_score = 2}.identity()));
  EXPECT_EQ(decoding.first_option(), "--lm");
  const std::string before = decoding.identity();
  test::write_file(model, "two");
  EXPECT_NE(decoding.identity(), before);
  EXPECT_THROW((void)CtcDecoding{.lm = folder.path() / "absent"}.identity(), ConfigError);
}

TEST(CtcDecoding, RefusesModelsThatCannotScore) {
  const auto refusal = [](const std::string& alphabet, const CtcDecoding& decoding) {
    const auto tokenizer = letters(alphabet);
    return test::message_of<ConfigError>([&] { (void)CtcBeamDecoders(*tokenizer, 4, decoding); });
  };
  EXPECT_EQ(refusal("ab ", {.lm_weight = 1}),
            "--lm-weight is for --lm alone: leave it out, or name a file by --lm");
  const auto model = test::source("tests/golden/ctc_beam/digits.arpa");
  EXPECT_NE(refusal("ab", {.lm = model}).find("have no space"), std::string::npos);
}

TEST(CtcDecoding, PrefersHotWords) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "names.txt";
  test::write_file(file, "A\n\n  b a \n");
  const auto tokenizer = letters("ab ");
  const auto best = [&](const CtcDecoding& decoding) {
    return tokenizer->decode(decoder(*tokenizer, 9, decoding, 2)(kFrames, 6, 4).front().labels);
  };
  EXPECT_EQ(best({.hot_words = file}), "b");  // "a" is as hot, and less likely
  test::write_file(file, "a");
  EXPECT_EQ(best({.hot_words = file}), "a");
  EXPECT_EQ(best({.hot_words = file, .hot_score = 0.5}), "b");
  const CtcDecoding hot{.hot_words = file};
  EXPECT_EQ(hot.first_option(), "--hot-words");
  EXPECT_EQ(hot.identity(), (CtcDecoding{.hot_words = file, .hot_score = 10}.identity()));
  EXPECT_NE(hot.identity(), (CtcDecoding{.hot_words = file, .hot_score = 9}.identity()));
  const std::string before = hot.identity();
  test::write_file(file, "b");
  EXPECT_NE(hot.identity(), before);
}

TEST(CtcDecoding, RefusesHotWordsWithoutLabels) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "names.txt";
  const auto refusal = [&](const std::string& alphabet, const CtcDecoding& decoding) {
    const auto tokenizer = letters(alphabet);
    return test::message_of<ConfigError>([&] { (void)CtcBeamDecoders(*tokenizer, 4, decoding); });
  };
  EXPECT_EQ(refusal("ab ", {.hot_score = 1}),
            "--hot-score is for --hot-words alone: leave it out, or name a file by --hot-words");
  EXPECT_NE(refusal("ab ", {.hot_words = file}).find("names.txt"), std::string::npos);
  test::write_file(file, "\n \n");
  EXPECT_NE(refusal("ab ", {.hot_words = file}).find("has no words"), std::string::npos);
  test::write_file(file, "ab\nba xa\n");
  const std::string unknown = refusal("ab ", {.hot_words = file});
  EXPECT_NE(unknown.find("names.txt, line 2: "), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("'x' (U+0078)"), std::string::npos) << unknown;
  EXPECT_NE(refusal("ab", {.hot_words = file}).find("leave out --hot-words"), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
