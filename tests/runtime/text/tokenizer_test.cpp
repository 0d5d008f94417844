#include "runtime/text/tokenizer.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/error.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using configs::Fold;
using configs::Normalisation;

std::u32string folded(std::string_view text, Fold fold) {
  return folded_text(text, configs::TextRules{.fold = fold});
}

TEST(FoldedText, FoldsCaseAndWhiteSpace) {
  EXPECT_EQ(folded(" \tAÀ\u00a0\n  Ł. ", Fold::lower), U"aà Ł.");
  EXPECT_EQ(folded("aÀ ß", Fold::upper), U"AÀ ß");
  EXPECT_EQ(folded("aÀ  ß", Fold::none), U"aÀ ß");
  EXPECT_THROW((void)folded("\xff", Fold::none), DataError);
}

TEST(FoldedText, FoldsLettersOfEveryScript) {
  EXPECT_EQ(folded("ŁÓDŹ ЖУК ΩΣ", Fold::unicode_lower), U"łódź жук ωσ");
  EXPECT_EQ(folded("łódź жук ωσ ÿ", Fold::unicode_upper), U"ŁÓDŹ ЖУК ΩΣ Ÿ");
}

TEST(FoldedText, NormalisesBeforeItFolds) {
  const auto text = [](Normalisation form, Fold fold, std::string_view given) {
    return folded_text(given, {form, fold, {}});
  };
  EXPECT_EQ(text(Normalisation::none, Fold::lower, "E\u0301"), U"e\u0301");
  EXPECT_EQ(text(Normalisation::nfc, Fold::lower, "E\u0301"), U"\u00e9");
  EXPECT_EQ(text(Normalisation::nfc, Fold::lower, "\uff21\u3000b"), U"\uff21 b");
  EXPECT_EQ(text(Normalisation::nfkc, Fold::lower, "\uff21\u3000b \u2121"), U"a b tel");
}

TEST(FoldedText, LosesWhatIsRemoved) {
  const auto without = [](std::u32string removed, std::string_view text) {
    return folded_text(text, {Normalisation::none, Fold::lower, std::move(removed)});
  };
  EXPECT_EQ(without(U".,?\u00ab", "\u00abNo, \u2013 yes?"), U"no \u2013 yes");
  EXPECT_EQ(without(U"\u2013", "a \u2013 b\u2013"), U"a b");
  EXPECT_EQ(without(U" ", " a b\tc "), U"abc");
  EXPECT_EQ(without(U".", " . . "), U"");
}

TEST(ListedCharacters, StandOnceInOrder) {
  EXPECT_EQ(listed(U"7é7 é"), "'7' (U+0037), 'é' (U+00E9), ' ' (U+0020)");
  EXPECT_EQ(listed(U""), "");
}

TEST(Tokenizer, KindIsTheRecipes) {
  configs::TextConfig config;
  EXPECT_EQ(make_tokenizer(config)->labels(), 29);
  EXPECT_EQ(make_tokenizer(config)->model(), "");
  config.kind = "sentencepiece";
  config.model = test::source("tests/golden/pieces/bpe.model");
  EXPECT_EQ(make_tokenizer(config)->labels(), 91);
  EXPECT_NE(make_tokenizer(config)->model(), "");
  config.kind = "bpe";
  config.model = test::source("tests/golden/byte_pairs/whisper-files");
  EXPECT_EQ(make_tokenizer(config)->labels(), 607);
  config.kind = "words";
  EXPECT_THROW((void)make_tokenizer(config), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
