#include "runtime/text/fit_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/text/alphabet.h"
#include "tests/support/system/process.h"

namespace penstock::runtime {
namespace {

using Texts = std::vector<std::string>;

FittedText fit(const Texts& texts, const configs::TextConfig& from = {}) {
  return fit_text(
      [&](const auto& use) {
        for (const std::string& text : texts) use(text);
      },
      from);
}

/// The proposal is worth nothing if it is refused, or leaves a text that can't be encoded.
void expect_encoded(const Texts& texts, const FittedText& fitted) {
  const Alphabet alphabet(fitted.text);
  for (const std::string& text : texts) EXPECT_NO_THROW((void)alphabet.encode(text)) << text;
}

TEST(FitText, FitsRussian) {
  const Texts texts = {"Ёлка, из-за…", "«Привет» — сказал он.", "мир"};
  const FittedText fitted = fit(texts);
  expect_encoded(texts, fitted);
  EXPECT_EQ(fitted.text.fold, "unicode-lower");
  EXPECT_EQ(fitted.text.alphabet, "-авезиклмнопрстё ");
  EXPECT_EQ(fitted.text.remove, ",.«»—…");
  EXPECT_EQ(fitted.text.normalise, "none");
  EXPECT_EQ(fitted.characters.at(U'и'), 3);
  EXPECT_EQ(fitted.transcripts, 3);
}

TEST(FitText, KeepsAnAlphabetThatIsInUse) {
  const Texts texts = {"Don't PANIC, sixty quick brown foxes jump over lazy dogs", "café"};
  const FittedText fitted = fit(texts);
  expect_encoded(texts, fitted);
  EXPECT_EQ(fitted.text.alphabet, "'abcdefghijklmnopqrstuvwxyz é");
  EXPECT_EQ(fitted.text.fold, "lower");
  EXPECT_EQ(fitted.text.remove, ",");
}

TEST(FitText, PutsLettersAndTheirMarksTogether) {
  const Texts texts = {"Cafe\u0301", "हिन्दी", "I\u0307stanbul 7"};
  const FittedText fitted = fit(texts);
  expect_encoded(texts, fitted);
  EXPECT_EQ(fitted.text.normalise, "nfc");
  EXPECT_NE(fitted.text.alphabet.find("é"), std::string::npos);
  EXPECT_NE(fitted.text.alphabet.find("7"), std::string::npos);
}

TEST(FitText, KeepsWhatTheUserChose) {
  configs::TextConfig from;
  from.alphabet = "ABC";
  from.fold = "none";
  from.remove = " -";
  const Texts texts = {"Ab-c (x)"};
  const FittedText fitted = fit(texts, from);
  expect_encoded(texts, fitted);
  EXPECT_EQ(fitted.text.fold, "none");
  EXPECT_EQ(fitted.text.remove, " -()");
  EXPECT_EQ(fitted.text.alphabet, "Abcx");
}

TEST(FitText, LeavesOutWhatIsNotUtf8) {
  const FittedText fitted = fit({"a\xff", "b"});
  EXPECT_EQ(fitted.text.alphabet, fit({"b"}).text.alphabet);
  EXPECT_EQ(fitted.transcripts, 2);
}

/// A shell hands the overrides on just as they were meant.
TEST(FitText, QuotesForAShell) {
  configs::TextConfig text;
  text.alphabet = "'ab$\"\\` ";
  text.fold = "unicode-lower";
  text.remove = "!*;'";
  const auto outcome = test::run_program(
      {"sh", "-c", "printf '[%s]' " + text_overrides(text, configs::TextConfig())});
  EXPECT_EQ(outcome.out, "[text.alphabet='ab$\"\\` ][text.fold=unicode-lower][text.remove=!*;']");
}

}  // namespace
}  // namespace penstock::runtime
