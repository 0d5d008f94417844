#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Lays out a set as mls_german.tar.gz and mls_german_opus.tar.gz of openslr.org/94 do.
class MlsTest : public testing::Test, protected test::ManifestFolder {
 protected:
  void put_set(const std::string& folder, const std::string& extension) const {
    put(folder + "/transcripts.txt",
        "4800_10003_000000\tdie haare waren noch braun\r\n2422_12_000017\tés ok\n");
    put(folder + "/segments.txt", "4800_10003_000000\thttp://x/y.mp3\t110.29\t128.88\n");
    put(folder + "/audio/4800/10003/4800_10003_000000." + extension, "");
    put(folder + "/audio/2422/12/2422_12_000017." + extension, "");
  }
  std::string refusal(const std::string& folder) const {
    return message_of<DataError>([&] { read(in(folder)); });
  }
};

TEST_F(MlsTest, SetsAreFlacOrOpus) {
  for (const std::string extension : {"flac", "opus"}) {
    put_set(extension + "/dev", extension);
    const auto entries = read(in(extension + "/dev"));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].audio,
              in(extension + "/dev/audio/4800/10003/4800_10003_000000." + extension));
    EXPECT_EQ(entries[0].text, "die haare waren noch braun");
    EXPECT_EQ(entries[0].where, "transcripts.txt:1");
    EXPECT_EQ(entries[1].audio, in(extension + "/dev/audio/2422/12/2422_12_000017." + extension));
    EXPECT_EQ(entries[1].text, "és ok");
    EXPECT_FALSE(entries[1].offset || entries[1].duration);
  }
  EXPECT_EQ(name_of(manifest_format(in("flac/dev"))), "MLS folder");
}

TEST_F(MlsTest, TheFolderOfRecordingsIsASource) {
  put_set("dev", "flac");
  Faults faults;
  ManifestSink sink{[](const ManifestEntry&) {}};
  read_manifest(in("dev"), sink, faults);
  EXPECT_EQ(sink.sources, (std::vector{in("dev/transcripts.txt"), in("dev/audio")}));
}

/// The likeliest mistakes, and what is said of them.
TEST_F(MlsTest, SaysWhatToDoAboutMistakes) {
  put_set("mls_german/dev", "flac");
  put_set("mls_german/train", "flac");
  expect_parts(
      refusal("mls_german"),
      {"mls_german: has several sets of MLS: name one of them, such as ", "mls_german/dev"});
  put("mls_german/dev/transcripts.txt",
      "4800_10003_000000\ttext\n4800_10003_000001 text\n4800-10003-000002\ttext\n_10003_1\ttext\n"
      "4800__1\ttext\n\ttext\n");
  expect_parts(refusal("mls_german/dev"), {"5 faults",
                                           "transcripts.txt:2: is not an utterance's name, "
                                           "SPEAKER_BOOK_NUMBER, a tab and its text",
                                           "transcripts.txt:3", "transcripts.txt:4",
                                           "transcripts.txt:5", "transcripts.txt:6"});
}

/// Texts of other corpora may have this name.
TEST_F(MlsTest, NeedsAudioAndATabInItsTranscripts) {
  put("own/transcripts.txt", "a text\n");
  put("own/transcripts.wav", "");
  put("own/audio/b.txt", "b");
  put("own/audio/b.wav", "");
  EXPECT_EQ(read(in("own")).size(), 2u);
  put("tabs/part/transcripts.txt", "a\ttext\n");
  put("tabs/part/transcripts.wav", "");
  for (const char* folder : {"tabs", "tabs/part"}) {
    EXPECT_EQ(name_of(manifest_format(in(folder))), "folder of recordings and texts");
    EXPECT_EQ(read(in(folder)).size(), 1u) << folder;
  }
}

}  // namespace
}  // namespace penstock::runtime
