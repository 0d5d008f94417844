#include <gtest/gtest.h>

#include <string>

#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/runtime/tar_writer.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read, test::TarWriter;

class WebdatasetTest : public testing::Test, protected test::ManifestFolder {
 protected:
  std::string refusal(const TarWriter& tar) const { return error_message("w/s.tar", tar.bytes()); }
};

TEST_F(WebdatasetTest, HasTextsOfTheSameKey) {
  put("w/shard-000000.tar", TarWriter()
                                .add("./b.flac", "bbb")
                                .add("b.txt", " two\r\nwords\n")
                                .add("b.json", "{}")
                                .add("spk.1/a.x.WAV", "aa")
                                .add("spk.1/a.json", R"({"text": "one", "speaker": 7})")
                                .add("spk.1/a.jpg", "picture")
                                .add("__meta__.txt", "of all")
                                .add("README", "nothing")
                                .bytes());
  put("w/shard-000001.tar", TarWriter().add("b.txt", "other").add("b.mp3", "m").bytes());
  put("w/README.txt", "where these are from");
  EXPECT_EQ(name_of(manifest_format(in("w"))), "WebDataset tars");
  const auto entries = read(in("w"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].audio, path_of({in("w/shard-000000.tar"), 512, 3, "b.flac"}));
  EXPECT_EQ(entries[0].text, "two words");
  EXPECT_EQ(entries[0].where, "shard-000000.tar:b.flac");
  EXPECT_EQ(tar_member(entries[1].audio.native())->name, "spk.1/a.x.WAV");
  EXPECT_EQ(entries[1].text, "one");
  EXPECT_EQ(entries[2].text, "other");
  EXPECT_EQ(read(in("w/shard-000001.tar"))[0].audio, entries[2].audio);
  EXPECT_EQ(read(in("w/shard-000001.tar"))[0].where, "shard-000001.tar:b.mp3");
}

TEST_F(WebdatasetTest, IsNoFolderOfRecordings) {
  put("f/1.wav", "");
  put("f/1.txt", "one");
  put("f/old.tar", "");
  EXPECT_EQ(manifest_format(in("f")), ManifestFormat::folder);
}

/// The likeliest mistakes, and what is said of them.
TEST_F(WebdatasetTest, SaysWhatToDoAboutMistakes) {
  expect_parts(
      refusal(TarWriter().add("a.wav", "1").add("b.wav", "2").add("b.txt", "b")),
      {"1 faults",
       "s.tar:a.wav: has no transcript in the tar: a.txt, or a.json with a \"text\", is missing"});
  expect_parts(refusal(TarWriter().add("a.txt", "1")),
               {"s.tar:a.txt: has no recording of its key in the tar"});
  expect_parts(refusal(TarWriter().add("a.1.wav", "1").add("a.txt", "a").add("a.2.wav", "2")),
               {"s.tar:a.2.wav: has the key \"a\" of a.1.wav: a key ends at a name's first dot"});
  expect_parts(refusal(TarWriter().add("a.wav", "1").add("a.json", R"({"transcript": "a"})")),
               {"s.tar:a.json: has no \"text\" that is a string"});
  expect_parts(refusal(TarWriter().add("a.wav", "1").add("a.json", "{'text'")),
               {"s.tar:a.json: is no JSON"});
  expect_parts(
      refusal(TarWriter()
                  .add("a.txt", "a")
                  .add_raw(test::tar_header({.name = "a.wav", .type = '2', .target = "/x/a.wav"}))),
      {"s.tar:a.wav: is a link: pack the files themselves"});
  expect_parts(
      error_message("w/s.tar", TarWriter().add("a.wav", "1").add("a.txt", "a").bytes(false)),
      {"s.tar: ", "is cut: it ends without the block of zeros"});
  put("w/s.tar", TarWriter().add("a.wav", "1").add("a.txt", "a").bytes());
  put("w/t.tar.gz", "\x1f\x8b\x08" + std::string(600, 'z'));
  expect_parts(message_of<DataError>([&] { read(in("w")); }),
               {"1 faults", "t.tar.gz: ", "is compressed by gzip", "unpack it, by gzip -d"});
  std::filesystem::remove(in("w/t.tar.gz"));
  const std::string one = TarWriter().add("a.wav", "1").add("a.txt", "a").bytes();
  expect_parts(error_message("w/s.tar", one + one),
               {"goes on after its end", "join them by tar --concatenate"});
  expect_parts(error_message("w/s.tar", "version https://git-lfs.github.com/spec/v1"),
               {"s.tar: is no tar"});
}

}  // namespace
}  // namespace penstock::runtime
