#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/tree/source_files.h"

namespace penstock::test {
namespace {

using test::SourceFile;

constexpr int max_words = 8;

/// Words of a name in camel case. An acronym is one, and a number belongs to the word before it:
/// "FP32SumsFitOn64Ranks" has five.
int words_in(const std::string& name) {
  const auto upper = [&](std::size_t i) { return std::isupper(name[i]) != 0; };
  const auto lower = [&](std::size_t i) { return i < name.size() && std::islower(name[i]) != 0; };
  int words = 0;
  for (std::size_t i = 0; i < name.size(); ++i)
    words += i == 0 || (upper(i) && (!upper(i - 1) || lower(i + 1))) ? 1 : 0;
  return words;
}

struct TestName {
  std::string suite, name;
};

/// The tests that a file defines, in its order.
std::vector<TestName> tests_of(const SourceFile& file) {
  static const std::regex macro(
      R"(\b(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\))");  // also over two lines
  std::string text;
  for (const std::string& line : file.code) text += line + "\n";
  std::vector<TestName> tests;
  for (std::sregex_iterator at(text.begin(), text.end(), macro), end; at != end; ++at)
    tests.push_back({(*at)[1], (*at)[2]});
  return tests;
}

/// Tests whose names are too long, each with how many words it has.
std::vector<std::string> too_long(const SourceFile& file) {
  std::vector<std::string> found;
  for (const TestName& test : tests_of(file)) {
    const int words = words_in(test.name);
    if (words > max_words)
      found.push_back(test.suite + "." + test.name + " has " + std::to_string(words) +
                      " words, more than 8");
  }
  return found;
}

std::vector<std::string> too_long(const std::string& text) {
  return too_long(test::parse_source("tests/layers/a_test.cpp", text));
}

TEST(TestNames, HaveAtMostEightWords) {
  std::size_t count = 0;
  for (const SourceFile& file : test::source_files()) {
    if (!file.in("tests")) continue;
    count += tests_of(file).size();
    for (const std::string& name : too_long(file)) ADD_FAILURE() << file.path << ": " << name;
  }
  EXPECT_GT(count, 1000u) << "tests are not found";
}

TEST(TestNames, AreNoticedWhereTooLong) {
  const std::string nine = "ThisNameHasOneWordMoreThanItMay";
  const std::vector<std::string> expected{"A." + nine + " has 9 words, more than 8"};
  EXPECT_TRUE(too_long("TEST(A, ThisNameHasAsManyWordsAsAllowed) {}\n").empty());
  for (const char* macro : {"TEST(A, ", "TEST_F(A,\n       ", "TEST_P(A, ", "TYPED_TEST(A, "})
    EXPECT_EQ(too_long(macro + nine + ") {}\n"), expected) << macro;
  EXPECT_TRUE(
      too_long("// TEST(A, " + nine + ")\nconst char* a = \"TEST(A, " + nine + ")\";\n").empty());
}

TEST(TestNames, CountAcronymsOnceAndNumbersNot) {
  EXPECT_EQ(words_in("Forward"), 1);
  EXPECT_EQ(words_in("ReadsCSVOfARank"), 5);
  EXPECT_EQ(words_in("FP32SumsFitOn64Ranks"), 5);
  EXPECT_EQ(words_in("NCCLAddsOverAllRanks"), 5);
}

}  // namespace
}  // namespace penstock::test
