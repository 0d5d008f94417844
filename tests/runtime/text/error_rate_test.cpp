#include "runtime/text/error_rate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

TEST(ErrorRate, EqualsJiwerOnRandomPairs) {
  std::ifstream file(test::source("tests/golden/error_rates.jsonl"));
  ErrorCount total;
  int pairs = 0;
  bool rates_seen = false;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.size() == 2) {
      EXPECT_EQ(total.words.rate(), json[0].get<double>());
      EXPECT_EQ(total.characters.rate(), json[1].get<double>());
      rates_seen = true;
      continue;
    }
    const ErrorCount found = count_errors(json[0].get<std::string>(), json[1].get<std::string>());
    const ErrorCount wanted{{json[2], json[3]}, {json[4], json[5]}};
    EXPECT_EQ(found, wanted) << line;
    total += found;
    ++pairs;
  }
  EXPECT_EQ(pairs, 1000);
  EXPECT_TRUE(rates_seen);
}

TEST(ErrorRate, CountsWordsAndCharacters) {
  const ErrorCount found = count_errors("one two  three", " one too three ");
  EXPECT_EQ(found.words, (EditCount{1, 3}));
  EXPECT_EQ(found.characters, (EditCount{2, 14}));
}

TEST(ErrorRate, OfAnEmptyReferenceIsTheInsertions) {
  EXPECT_EQ(count_errors("", "two words").words.rate(), 2);
  EXPECT_EQ(count_errors("", "").words.rate(), 0);
  EXPECT_EQ(count_errors("two words", "").words.rate(), 1);
}

TEST(ErrorRate, RejectsTextThatIsNotUtf8) {
  EXPECT_THROW((void)count_errors("\xff", "a"), DataError);
  EXPECT_THROW((void)count_errors("a", "\xff"), DataError);
}

}  // namespace
}  // namespace penstock::runtime
