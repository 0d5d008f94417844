#include "runtime/data/manifest/stm_line.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

std::string cleaned(const std::string& text) { return parse_stm("r 1 s 0 1 <NA> " + text).text; }

TEST(StmLine, HasTheFieldsOfNist) {
  const StmLine line =
      parse_stm("911Mothers_2010W 1 911Mothers_2010W 14.95 18.26 <o,f0,female> i have a dream");
  EXPECT_EQ(line.recording, "911Mothers_2010W");
  EXPECT_EQ(line.channel, "1");
  EXPECT_EQ(line.begin, 14.95);
  EXPECT_EQ(line.end, 18.26);
  EXPECT_EQ(line.text, "i have a dream");
  EXPECT_EQ(parse_stm("r A s 0 .5 no labels").text, "no labels");
  EXPECT_EQ(parse_stm("r A s 0 .5").text, "");
}

/// The expected texts are those of normalize_text_tedlium(text, "kaldi") of Lhotse 1.33, with one
/// space where it leaves two.
TEST(StmLine, TextsAreCleanedAsByLhotse) {
  EXPECT_EQ(cleaned("i 'm sure they 're <unk> here"), "i'm sure they're here");
  EXPECT_EQ(cleaned("' cause in the ' 60s"), "'cause in the '60s");
  EXPECT_EQ(cleaned("[NOISE] well [APPLAUSE]"), "well");
  EXPECT_EQ(cleaned("été 's"), "été's");
  EXPECT_EQ(cleaned("'s"), "'s");
}

TEST(StmLine, MarksInBracketsAreRemoved) {
  EXPECT_EQ(cleaned("<sil> read(2) {NOISE} it (AlGore-20060225)"), "read it");
  EXPECT_EQ(cleaned("a < b (open"), "a < b (open");
  EXPECT_EQ(cleaned("a <any> b<x>"), "a b");
}

TEST(StmLine, AlternativesAreRefused) {
  const auto refusal = [](const std::string& text) {
    return test::message_of<DataError>([&] { (void)cleaned(text); });
  };
  EXPECT_EQ(refusal("i { um / uh / @ } think"),
            "leaves a choice, { um / uh / @ }, but a text is one: write one of these there");
  EXPECT_EQ(refusal("{NOISE} {a/b}"),
            "leaves a choice, {a/b}, but a text is one: write one of these there");
  EXPECT_EQ(refusal("{NOISE} and/or { a"), "");
}

TEST(StmLine, LinesThatAreNoneAreRefused) {
  const auto refusal = [](const std::string& line) {
    return test::message_of<DataError>([&] { (void)parse_stm(line); });
  };
  EXPECT_EQ(refusal("r 1 s 0.5"),
            "is not a recording, channel, speaker, begin, end, labels and text");
  for (const char* times : {"1 1", "2 1", "-1 1", "x 1", "0 1s", "0 inf", "0 1e999"})
    EXPECT_NE(refusal("r 1 s " + std::string(times) + " text").find("begins at \""),
              std::string::npos)
        << times;
}

}  // namespace
}  // namespace penstock::runtime
