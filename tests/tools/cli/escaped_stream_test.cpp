#include "tools/cli/escaped_stream.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

TEST(Escaped, SpellsOutWhatControlsATerminal) {
  EXPECT_EQ(escaped("a\x1b[2J\r\a\x7f\n\tb"), "a\\x1b[2J\\x0d\\x07\\x7f\n\tb");
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escaped("ж\xc2\x9b"
                    "31m×😀"),
            "ж\\u009b31m×😀");  // CSI of one character
  EXPECT_EQ(escaped("a\x9b\xff"
                    "ж\xd0"),
            "a\\x9b\\xffж\\xd0");
}

TEST(EscapedStream, TakesCharactersInParts) {
  std::ostringstream out;
  {
    const EscapedStream filter(out);
    for (const char byte : std::string("ж😀\xc2\x9b\x1b\xff.")) out << byte << std::flush;
    out << "\xe2\x82";
  }
  EXPECT_EQ(out.str(), "ж😀\\u009b\\x1b\\xff.\\xe2\\x82");
  out.str("");
  out << "\x1b";
  EXPECT_EQ(out.str(), "\x1b");
}

TEST(EscapedStream, LetsItsOwnControlsPass) {
  std::ostringstream out;
  const EscapedStream filter(out);
  out << "a\r" << Unescaped{"\r\x1b[K"} << "b";
  EXPECT_EQ(out.str(), "a\\x0d\r\x1b[Kb");
}

/// Control characters in files are spelt out in a table, an error, a log line and a note.
TEST(EscapedStream, IsWhatACommandSays) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const std::string red = "\x1b[31m", spelt = "\\x1b[31m";
  const auto expect_spelt = [&](const std::vector<std::string>& words, int code) {
    const auto outcome = folder.run(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    const std::string all = outcome.out + outcome.err;
    EXPECT_EQ(all.find('\x1b'), std::string::npos) << words[0] << all;
    EXPECT_NE(all.find(spelt), std::string::npos) << words[0] << all;
  };
  const std::string header = R"({"a\u001b[31mb":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  test::write_file(folder.in("x.safetensors"), bytes + header + std::string(4, '\0'));
  expect_spelt({"info", folder.in("x.safetensors")}, 0);
  test::write_file(folder.in("x.toml"), "[model]\n\"\\u001b[31m\" = 3\n");
  expect_spelt({"plan", folder.in("x.toml")}, 2);
  test::write_file(folder.in("x.jsonl"), R"({"audio_filepath": "\u001b[31m.wav", "text": "a"})"
                                         "\n");
  expect_spelt({"data", "verify", folder.in("x.jsonl")}, 3);
  const std::string output = folder.in(red);
  test::write_file(folder.in("file"), "");
  std::filesystem::create_directory(output);
  std::filesystem::rename(folder.in("file"), output + "/checkpoint-000000099");
  expect_spelt({"train", folder.in("recipe.toml"), "trainer.steps=1", "trainer.resume=true",
                "trainer.output=" + output},
               0);
}

}  // namespace
}  // namespace penstock::tools
