#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/runtime/tar_writer.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::read, test::TarWriter;

/// Writes tars and manifest lines as NeMo's convert_to_tarred_audio_dataset.py does.
class NemoTest : public testing::Test, protected test::ManifestFolder {
 protected:
  NemoTest() {
    put("n/audio_0.tar", TarWriter().add("data_a.wav", "aaa").add("data_b.wav", "bb").bytes());
    put("n/audio_1.tar", TarWriter().add("data_c.wav", "c").bytes());
  }
  static std::string line(const std::string& name, const std::string& shard,
                          const std::string& more = "") {
    return "{\"audio_filepath\": \"" + name + "\", \"duration\": 1.5, \"text\": \"t\", " + more +
           "\"shard_id\": " + shard + "}\n";
  }
  std::string refusal(const std::string& lines) const {
    return error_message("n/tarred_audio_manifest.json", lines);
  }
  std::filesystem::path a() const { return path_of({in("n/audio_0.tar"), 512, 3, "data_a.wav"}); }
  std::filesystem::path c() const { return path_of({in("n/audio_1.tar"), 512, 1, "data_c.wav"}); }
};

TEST_F(NemoTest, NamesMembersOfShards) {
  const auto manifest =
      put("n/tarred_audio_manifest.json", line("data_c.wav", "1") + line("data_a.wav", "0") +
                                              line("data_a-sub1.wav", "0", "\"offset\": 0.25, ") +
                                              line("data_b.wav", "0"));
  for (const auto& entries : {read(manifest), read(in("n"))}) {
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[0].audio, c());
    EXPECT_EQ(entries[0].duration, 1.5);
    EXPECT_EQ(entries[0].where, "tarred_audio_manifest.json:1");
    EXPECT_EQ(entries[1].audio, a());
    EXPECT_EQ(entries[1].offset, std::nullopt);
    EXPECT_EQ(entries[2].audio, a());
    EXPECT_EQ(entries[2].offset, 0.25);
    EXPECT_EQ(entries[3].audio, path_of({in("n/audio_0.tar"), 1536, 2, "data_b.wav"}));
  }
  EXPECT_EQ(name_of(manifest_format(in("n"))), "NeMo folder of tars");
}

TEST_F(NemoTest, ReadsTheManifestsOfSingleShards) {
  put("n/sharded_manifests/manifest_1.json", line("data_c.wav", "1"));
  put("n/sharded_manifests/manifest_0.json", line("data_a.wav", "0"));
  put("n/sharded_manifests/manifest_10.json", line("data_b.wav", "0"));
  const auto entries = read(in("n/sharded_manifests"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].audio, a());
  EXPECT_EQ(entries[1].audio, c());
  EXPECT_EQ(entries[1].where, "manifest_1.json:1");
  EXPECT_EQ(tar_member(entries[2].audio.native())->name, "data_b.wav");
  EXPECT_EQ(read(in("n/sharded_manifests/manifest_1.json"))[0].audio, c());
}

TEST_F(NemoTest, IsNoFolderOfRecordings) {
  put("f/1.wav", "");
  put("f/1.txt", "one");
  put("f/manifest_1.json", line("1.wav", "1"));
  EXPECT_EQ(manifest_format(in("f")), ManifestFormat::folder);
}

TEST_F(NemoTest, PrefersAMemberOfThatVeryName) {
  put("n/audio_7.tar", TarWriter().add("x.wav", "1").add("x-sub1.wav", "22").bytes());
  const auto entries = read(put("n/m.json", line("x-sub1.wav", "7") + line("x-sub2.wav", "7")));
  EXPECT_EQ(tar_member(entries[0].audio.native())->name, "x-sub1.wav");
  EXPECT_EQ(tar_member(entries[1].audio.native())->name, "x.wav");
}

TEST_F(NemoTest, ReadsPlainFilesWhereThereAreNoShards) {
  put("p/data_a.wav", "");
  for (const char* shard : {"0", "\"of-another-kind\""})
    EXPECT_EQ(read(put("p/m.json", line("data_a.wav", shard)))[0].audio, in("p/data_a.wav"));
}

TEST_F(NemoTest, AnyManifestMayNameAMember) {
  EXPECT_EQ(
      read(put("l.jsonl", R"({"audio_filepath": "n/audio_0.tar:data_a.wav", "text": "t"})"))[0]
          .audio,
      a());
  EXPECT_EQ(read(put("l.tsv", "n/audio_1.tar:./data_c.wav\tt\n"))[0].audio, c());
  expect_parts(
      error_message("m.jsonl", R"({"audio_filepath": "n/audio_0.tar:gone.wav", "text": "t"})"),
      {"1 faults", "m.jsonl:1: ",
       "audio_0.tar: has no member \"gone.wav\" among its 2 files, such as \"data_a.wav\""});
}

/// Python takes 0, "" and null for false, and NeMo asks Python.
TEST_F(NemoTest, LeavesOutLinesOfSkipme) {
  std::string lines;
  for (const char* skip : {"true", "1", "\"noise\"", "[0]", "false", "0", "\"\"", "null", "{}"})
    lines += "{\"audio_filepath\": \"a.wav\", \"text\": \"t\", \"_skipme\": " + std::string(skip) +
             "}\n";
  std::vector<std::string> names;
  Faults faults;
  ManifestSink sink{[&](const ManifestEntry& entry) { names.push_back(entry.where); }};
  read_manifest(put("s/m.json", lines), sink, faults);
  EXPECT_EQ(names,
            (std::vector<std::string>{"m.json:5", "m.json:6", "m.json:7", "m.json:8", "m.json:9"}));
  EXPECT_EQ(sink.skipped, 4u);
}

/// The likeliest mistakes, and what is said of them.
TEST_F(NemoTest, SaysWhatToDoAboutMistakes) {
  expect_parts(refusal(line("data_a.wav", "5")),
               {"tarred_audio_manifest.json:1: is of shard 5, but there is no audio_5.tar in ",
                " among the 2 shards in ", "copy the shards beside their manifest"});
  expect_parts(
      error_message("q/tarred_audio_manifest.json", line("data_a.wav", "0")),
      {"is of shard 0, but there is no audio_0.tar in ", ", nor any other shard there or in "});
  expect_parts(
      refusal(line("data_a.wav", "0") + line("other.wav", "1")),
      {"1 faults", "manifest.json:2: ",
       "audio_1.tar: has no member \"other.wav\" among its 1 file, such as \"data_c.wav\""});
  expect_parts(refusal(line("data_a.wav", "\"0\"")),
               {"its shard_id \"0\" is not a whole number from 0 on"});
  put("n/audio_2.tar.gz", "\x1f\x8b\x08" + std::string(600, 'z'));
  expect_parts(refusal(line("data_a.wav", "2")),
               {"audio_2.tar.gz: is compressed by gzip", "unpack it, by gzip -d"});
  put("n/audio_part_1.tar", "");
  expect_parts(refusal(line("data_c.wav", "1")), {"is of shard 1, but ", "audio_1.tar",
                                                  "audio_part_1.tar", "both are: leave one there"});
  put("n/audio_3.tar", TarWriter().add("d.wav", std::string(99, 'd')).bytes().substr(0, 530));
  expect_parts(refusal(line("d.wav", "3")),
               {"audio_3.tar: is cut: its member d.wav needs 99 bytes"});
  put("n/audio_4.tar", "<html>404</html>");
  expect_parts(refusal(line("d.wav", "4")), {"audio_4.tar: is no tar"});
  put("n/audio_6.tar", "");
  expect_parts(refusal(line("d.wav", "6")), {"audio_6.tar: empty file"});
}

}  // namespace
}  // namespace penstock::runtime
