#include "runtime/data/manifest/line_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/system/process.h"

namespace penstock::runtime {
namespace {

using test::message_of, test::expect_parts;

class LineReaderTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static std::vector<std::string> lines(const std::filesystem::path& file) {
    std::vector<std::string> all;
    LineReader reader(file);
    for (std::string line; reader.next(line);) all.push_back(line);
    return all;
  }
  /// Compresses a text by the command gzip.
  std::filesystem::path compressed(const std::string& text) const {
    const auto file = put("lines", text);
    EXPECT_EQ(test::run_program({"gzip", "-kf", file.string()}).code, 0);
    return file.string() + ".gz";
  }
  static std::string refusal(const std::filesystem::path& file) {
    return message_of<DataError>([&] { lines(file); });
  }
};

/// Blocks have 256 KiB, so that a text of one MiB of ragged lines crosses some.
TEST_F(LineReaderTest, ReadsCompressedLinesAsPlainOnes) {
  std::vector<std::string> expected;
  std::string text;
  for (std::size_t i = 0; text.size() < (1 << 20); ++i) {
    expected.push_back(std::string(i * i % 9973, static_cast<char>('a' + i % 26)));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines(compressed(text)), expected);
  EXPECT_EQ(lines(in("lines")), expected);
}

TEST_F(LineReaderTest, TakesTheLastLineWithoutItsEnd) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines(put("f", "a\n\nb")), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines(put("f", "a\n\n")), (Lines{"a", ""}));
  EXPECT_EQ(lines(put("f", "")), Lines{});
  EXPECT_EQ(lines(put("f", "\n")), Lines{""});
  EXPECT_EQ(lines(put("f", std::string((256 << 10) - 1, 'x') + "\ny")),
            (Lines{std::string((256 << 10) - 1, 'x'), "y"}));
  EXPECT_EQ(lines(compressed("a\nb")), (Lines{"a", "b"}));
}

TEST_F(LineReaderTest, JoinsConcatenatedParts) {
  const std::string part = test::read_file(compressed("a\nb"));
  EXPECT_EQ(lines(put("two.gz", part + part)), (std::vector<std::string>{"a", "ba", "b"}));
}

TEST_F(LineReaderTest, SaysWhatIsWrongWithAFile) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string whole = test::read_file(compressed(text));
  expect_parts(refusal(put("cut.gz", whole.substr(0, whole.size() / 2))),
               {"cut.gz: is cut: its gzip data end too early. Copy it again"});
  std::string damaged = whole;
  for (std::size_t i = whole.size() / 2; i < whole.size() / 2 + 20; ++i) damaged[i] ^= 0x55;
  expect_parts(refusal(put("damaged.gz", damaged)),
               {"damaged.gz: is damaged, after ", " bytes of its text. Copy it again"});
  expect_parts(refusal(compressed(std::string((64 << 20) + (1 << 20), 'x'))),
               {"has a line of more than 64 MiB: is it a manifest?"});
  expect_parts(refusal(in("missing")), {"missing: cannot be read"});
  expect_parts(refusal(in("")), {"cannot be read"});
}

}  // namespace
}  // namespace penstock::runtime
