#include "runtime/data/manifest/foreign_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/runtime/corpus_mistakes.h"

namespace penstock::runtime {
namespace {

TEST(ForeignFile, IsDescribedByItsFirstBytes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {test::web_page(), "is a web page (\"404 Not Found\"), not the file"},
      {" \n<HTML>", "is a web page, not the file"},
      {"\xef\xbb\xbf<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
       "is XML (\"AccessDenied\"), not the file"},
      {"Entry not found", "is a server's answer (Entry not found), not the file"},
      {test::lfs_pointer(), "is a pointer of Git LFS, not the file of 1234567 bytes"},
      {"version https://git-lfs.github.com/spec/v1",
       "is a pointer of Git LFS, not the file: fetch"},
      {test::in_utf16("a"), "iconv -f UTF-16 -t UTF-8 f.x"},
      {"PK\x03\x04", "is a zip archive"},
      {"7z\xbc\xaf\x27\x1c", "7z x f.x"},
      {"\x28\xb5\x2f\xfd", "zstd -d f.x"},
      {"\x1a\x45\xdf\xa3", "ffmpeg -i f.x NAME.flac"},
      {"\xff\xff\xff\xff\x10", "is a table of Arrow"}};
  for (const auto& [head, said] : cases) {
    const std::string what = describe_foreign("f.x", head);
    EXPECT_NE(what.find(said), std::string::npos) << said << " is not in: " << what;
    EXPECT_EQ(describe_no_text("f.x", head), what);
  }
}

TEST(ForeignFile, RecordingsAndTarsAreForeignToTextsAlone) {
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  for (const std::string& head : {test::sound_bytes(), std::string("fLaC\0\0", 6), tar}) {
    EXPECT_EQ(describe_foreign("f", head), "");
    EXPECT_NE(describe_no_text("f", head), "");
  }
}

TEST(ForeignFile, TextsAreNot) {
  for (const std::string head :
       {"", "a", "PK-1 hello", "ID3 one", "RIFF001 one", "fLaC one", "PAR1_2 one", "<unk> one",
        "{\"audio_filepath\": \"a\"}", "Entry one", "\xef\xbb\xbfid\tpath",
        "Entry not found\tin the book\nEntry two",
        "{\"error\": 1, \"audio_filepath\": \"a\", \"text\": \"one\"}",
        "{\"error\": 1, \"path\": \"a\"}\n{\"error\": 2, \"path\": \"b\"}"}) {
    EXPECT_EQ(describe_foreign("f", head), "") << head;
    EXPECT_EQ(describe_no_text("f", head), "") << head;
  }
  const std::string poem = "Invalid credentials " + std::string(200, 'x');
  EXPECT_EQ(describe_foreign("f", poem), "");
}

TEST(ForeignFile, TranscriptsMaySayWhatServersAnswer) {
  for (const std::string head : {"Entry not found", "Invalid credentials, he said.\n"}) {
    EXPECT_EQ(describe_no_transcript("f", head), "");
    EXPECT_NE(describe_no_text("f", head), "");
  }
  for (const std::string& head : {test::web_page(), test::lfs_pointer(), test::sound_bytes()})
    EXPECT_EQ(describe_no_transcript("f", head), describe_no_text("f", head));
}

TEST(ForeignFile, NamesOfPagesAreShownAsUtf8) {
  const std::string what =
      describe_foreign("f", "<html><title>" + std::string(79, 'x') + "é caf\xe9</title>");
  EXPECT_NE(what.find("(\"" + std::string(79, 'x') + "\")"), std::string::npos) << what;
}

}  // namespace
}  // namespace penstock::runtime
