#include "configs/toml_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::configs {
namespace {

/// The key a.a.…, of so many parts.
std::string key_of(std::size_t parts) {
  std::string key = "a";
  for (std::size_t i = 1; i < parts; ++i) key += ".a";
  return key;
}

const std::string kTooDeep = key_of(kDeepestKeys + 2);

/// "LINE: WHAT"; "" if the text may be parsed.
std::string fault_of(const std::string& text) {
  const auto fault = find_toml_fault(text);
  return fault ? fmt::format("{}: {}", fault->line, fault->what) : "";
}

std::string deep_at(int line) {
  return fmt::format("{}: keys and values nest deeper than 128", line);
}

TEST(TomlCheck, CountsPartsOfKeys) {
  EXPECT_EQ(fault_of(key_of(kDeepestKeys) + " = 1\n"), "");
  EXPECT_EQ(fault_of("x = 1\n" + kTooDeep + " = 1\n"), deep_at(2));
  EXPECT_EQ(fault_of("[" + kTooDeep + "]\n"), deep_at(1));
  EXPECT_EQ(fault_of("\"a\" . " + kTooDeep), deep_at(1));
}

TEST(TomlCheck, AddsBracketsAndTheirKeys) {
  std::string tables;
  for (std::size_t i = 0; i < kDeepestKeys / 2; ++i) tables += "a.b = {";
  EXPECT_EQ(fault_of(tables), "");
  EXPECT_EQ(fault_of(tables + "a.b"), deep_at(1));
  EXPECT_EQ(fault_of("a = " + std::string(kDeepestKeys + 1, '[')), deep_at(1));
}

TEST(TomlCheck, AllowsManyNumbersAndTables) {
  std::string numbers = "a = [", tables;
  for (std::size_t i = 0; i < 3 * kDeepestKeys; ++i) {
    numbers += "0.5, ";
    tables += "[[a.b]]\nc = {x = 1.5}\n";
  }
  EXPECT_EQ(fault_of(numbers + "1.5]\n" + tables), "");
}

TEST(TomlCheck, PassesOverStringsAndComments) {
  const std::string odd = std::string(kDeepestKeys + 2, '.') + "é";
  for (const std::string quotes : {"\"", "'", "\"\"\"", "'''"})
    EXPECT_EQ(fault_of("a = " + quotes + odd + quotes + "\n"), "") << quotes;
  EXPECT_EQ(fault_of("a = 1  # " + odd + "\n# " + odd), "");
  EXPECT_EQ(fault_of("a = \"\"\"x\n" + odd + "\\\"\"\"" + odd + "\"\"\""), "");
  EXPECT_EQ(fault_of("\xef\xbb\xbf"
                     "a = 1"),
            "");
}

/// A string may end with quotes of its own before the last three, after which the file goes on.
TEST(TomlCheck, FindsKeysAfterStrings) {
  for (const std::string text : {"{x = \"\"\"y\"\"\"\"", "{x = \"y\\\\\"", "{x = 'y\\'", "{x = ''",
                                 "{x = '''y'''''", "{x = \"\"\"y\"z\\\"\"\"\""})
    EXPECT_EQ(fault_of(text + ", " + kTooDeep), deep_at(1)) << text;
  EXPECT_EQ(fault_of("{x = \"open\n, " + kTooDeep), deep_at(2));
}

TEST(TomlCheck, NamesCharactersBeyondAscii) {
  const std::string where = "a character beyond ASCII stands outside strings and comments";
  EXPECT_EQ(fault_of("a = 1\nb\u02c5 = 2\n"), "2: " + where);
  EXPECT_EQ(fault_of("[a\u00e9]\n"), "1: " + where);
  EXPECT_EQ(fault_of("a = \"\" \u00e9"), "1: " + where);
}

TEST(TomlCheck, NamesQuotesWithinWords) {
  const std::string where = "1: a quote stands within a word";
  for (const std::string text :
       {"a = 0'\u02c5'", "a\"b\" = 1", "a = \"b\"'c'", "a = 0'''\n\u02c5'''"})
    EXPECT_EQ(fault_of(text), where) << text;
  // Words of values go on where those of keys end.
  for (const std::string text : {"a = 0.'\u02c5'", "a = [1, 0.'''\u02c5''']", "a = 0='\u02c5'",
                                 "a = 0{'\u02c5'", "a = 0['\u02c5'", "a = {b = [0.\"\u02c5\"]}",
                                 "a = [{b = 1}, 0.'\u02c5']", "a = {b = {}, c = 0.'\u02c5'}"})
    EXPECT_EQ(fault_of(text), where) << text;
  for (const std::string text :
       {"a = {b = 1, c.'d' = [2.5, 'e']}", "a = [{b.'c' = 'd'}, {}, {e.'f' = 1}, 'g']",
        "a = 0.5 # '\u02c5'\nb.'c' = 1", "a = {b = {c = 1}, d.'e' = 'f'}\n['g'.'h']\ni.'j' = 1"})
    EXPECT_EQ(fault_of(text), "") << text;
  for (const std::string text : {"'a'.\"b\" = 1", "a =\"b\"", "a = ['b',\"c\"]", "a = {'b'='c'}",
                                 "\xef\xbb\xbf\"a\" = 1", "[\"a\"]", "a = \"it's\""})
    EXPECT_EQ(fault_of(text), "") << text;
}

/// After a backslash, toml++ asks of these letters whether they are blanks, which it can't tell.
TEST(TomlCheck, NamesLettersAfterBackslashesOfLongStrings) {
  const std::string escaped = R"(a backslash stands before a letter: write \\ for a backslash)";
  const std::string line =
      "a line begins with a letter beyond ASCII after a line that ends in a backslash: join the "
      "two lines";
  EXPECT_EQ(fault_of("a = \"\"\"b\\\u00e9\"\"\""), "1: " + escaped);
  EXPECT_EQ(fault_of("a = \"\"\"b\n\\ \t\n\r\n \ufefd\"\"\""), "4: " + line);
  EXPECT_EQ(fault_of("a = \"\"\"\\\"\"\\\n\u2c5e"), "2: " + line);
  for (const std::string text :
       {"a = \"\"\"b\\\n c\u00e9\"\"\"", "a = \"b\\\u00e9\"", "a = '''b\\\n\u00e9'''",
        "a = \"\"\"\\\\\u00e9\"\"\"", "a = \"\"\"b\\\n  ", "a = \"\"\"b\\", "a = \"\"\"b\\\n\u3000",
        "a = \"\"\"b\\\n\u65e5\"\"\"", "a = \"\"\"b\\\n\U0001f600\"\"\"", "a = \"\"\"b\\\n\xc3"})
    EXPECT_EQ(fault_of(text), "") << text;
  EXPECT_EQ(fault_of("{x = \"\"\"y\\\n\"\"\", " + kTooDeep), deep_at(2));
}

TEST(TomlCheck, NamesHeadersThatBeginNoKey) {
  const std::string what = "a table's name begins with a letter, a digit, _, - or a quote";
  for (const std::string header : {"[[[a]]]", "[ [[a", "[=", "[\n", "  [.a]"})
    EXPECT_EQ(fault_of("x = 1\n" + header), "2: " + what) << header;
  for (const std::string text :
       {"[a]", "[ \"a\"]", "[[a]]", "[['a']]", "[]", "[", "x = [[[1]]]", "x = [\n[[1]]\n]"})
    EXPECT_EQ(fault_of(text), "") << text;
}

}  // namespace
}  // namespace penstock::configs
