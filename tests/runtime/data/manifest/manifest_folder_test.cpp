#include "tests/support/runtime/manifest_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

class FolderTest : public testing::Test, protected test::ManifestFolder {};

TEST_F(FolderTest, HasTextsBesideRecordings) {
  put("all/b/2.FLAC", "");
  put("all/b/2.txt", "two\r\nlines\n");
  put("all/a.b.wav", "");
  put("all/a.b.txt", "one");
  put("all/cover.jpg", "");
  const auto entries = read(in("all"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].audio, in("all/a.b.wav"));
  EXPECT_EQ(entries[0].text, "one");
  EXPECT_EQ(entries[0].where, "a.b.wav");
  EXPECT_EQ(entries[1].audio, in("all/b/2.FLAC"));
  EXPECT_EQ(entries[1].text, "two lines");
  EXPECT_EQ(entries[1].where, "b/2.FLAC");
}

TEST_F(FolderTest, TextsMaySayWhatServersAnswer) {
  put("all/1.wav", "");
  put("all/1.txt", "Entry not found\n");
  EXPECT_EQ(read(in("all"))[0].text, "Entry not found");
}

TEST_F(FolderTest, ExtensionIsThatOfTheFirstRecording) {
  put("s/2.wav", "");
  put("s/3.mp3", "");
  SharedExtension extension;
  EXPECT_EQ(extension.recording(in("s/1")), in("s/1.flac"));
  EXPECT_EQ(extension.recording(in("s/2")), in("s/2.wav"));
  EXPECT_EQ(extension.recording(in("s/3")), in("s/3.wav"));
}

TEST_F(FolderTest, ExtensionIsNotSoughtForEver) {
  put("s/2.wav", "");
  SharedExtension last, late;
  for (int i = 0; i < SharedExtension::kTried; ++i) {
    if (i > 0) (void)last.recording(in("s/1"));
    (void)late.recording(in("s/1"));
  }
  EXPECT_EQ(last.recording(in("s/2")), in("s/2.wav"));
  EXPECT_EQ(late.recording(in("s/2")), in("s/2.flac"));
}

TEST_F(FolderTest, NamesWhatIsAlone) {
  put("all/1.wav", "");
  put("all/1.txt", "one");
  put("all/x/2.wav", "");
  put("all/x/3.txt", "three");
  put("all/1.flac", "");
  expect_parts(message_of<DataError>([&] { read(in("all")); }),
               {"3 faults", "1.wav: is the second recording beside 1.txt",
                "x/2.wav: has no transcript beside it: 2.txt is missing",
                "x/3.txt: has no recording beside it"});
}

}  // namespace
}  // namespace penstock::runtime
