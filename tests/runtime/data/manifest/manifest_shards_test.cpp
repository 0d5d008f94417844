#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/runtime/tar_writer.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read, test::TarWriter;

/// Lays out what NeMo's convert_to_tarred_audio_dataset.py writes, in two buckets of two shards.
class ShardsTest : public testing::Test, protected test::ManifestFolder {
 protected:
  ShardsTest() {
    for (const std::string bucket : {"b/1", "b/2"})
      for (const std::string shard : {"0", "1"}) {
        const std::string name = "utterance_" + bucket.substr(2) + shard + ".wav";
        put(bucket + "/audio_" + shard + ".tar", TarWriter().add(name, "sound").bytes());
        put(bucket + "/sharded_manifests/manifest_" + shard + ".json",
            "{\"audio_filepath\": \"" + name + "\", \"duration\": 1.5, \"text\": \"t" +
                name.substr(9, 3) + "\", \"shard_id\": " + shard + "}\n");
      }
  }
  std::string refusal(const std::string& pattern) const {
    return message_of<DataError>([&] { read(in(pattern)); });
  }
  static std::vector<std::string> texts(const std::vector<ManifestEntry>& entries) {
    std::vector<std::string> all;
    for (const ManifestEntry& entry : entries) all.push_back(entry.text);
    return all;
  }
};

TEST_F(ShardsTest, AreReadOneAfterAnother) {
  const auto pattern = in("b/1/sharded_manifests/manifest__OP_0..1_CL_.json");
  const auto entries = read(pattern);
  EXPECT_EQ(texts(entries), (std::vector<std::string>{"t_10", "t_11"}));
  EXPECT_EQ(entries[1].audio, path_of({in("b/1/audio_1.tar"), 512, 5, "utterance_11.wav"}));
  EXPECT_EQ(entries[1].where, "manifest_1.json:1");
  EXPECT_EQ(name_of(manifest_format(pattern)), "shards");
  EXPECT_EQ(read(in("b/1/sharded_manifests/manifest_{0..1}.json")).size(), 2u);
}

TEST_F(ShardsTest, MayLieInSeveralBuckets) {
  const std::vector<std::string> all{"t_10", "t_11", "t_20", "t_21"};
  EXPECT_EQ(texts(read(in("b/_OP_1..2_CL_/sharded_manifests/manifest__OP_0..1_CL_.json"))), all);
  EXPECT_EQ(texts(read(in("b/{1,2}/sharded_manifests"))), all);
}

TEST_F(ShardsTest, MayBeTarsOfWebdataset) {
  put("w/000.tar", TarWriter().add("a.wav", "sound").add("a.txt", "one").bytes());
  put("w/001.tar", TarWriter().add("b.wav", "sound").add("b.txt", "two").bytes());
  EXPECT_EQ(texts(read(in("w/{000..001}.tar"))), (std::vector<std::string>{"one", "two"}));
}

TEST_F(ShardsTest, MayBeTablesOrSounds) {
  put("t/a.csv", "1.wav,one\n");
  put("t/b.tsv", "2.wav\ttwo\n");
  EXPECT_EQ(texts(read(in("t/{a.csv,b.tsv}"))), (std::vector<std::string>{"one", "two"}));
  put("n/manifest_0.json", "{\"audio_filepath\": \"a.wav\"}\n");
  Faults faults;
  std::size_t sounds = 0;
  ManifestSink sink{[&](const ManifestEntry&) { ++sounds; }};
  sink.texts = false;
  read_manifest(in("n/manifest__OP_0..0_CL_.json"), sink, faults);
  read_manifest(in("n"), sink, faults);
  EXPECT_TRUE(faults.empty()) << faults.listed();
  EXPECT_EQ(sounds, 2u);
}

/// A name of an existing file is no pattern.
TEST_F(ShardsTest, YieldToAFileOfTheirName) {
  EXPECT_EQ(read(put("t/{0..1}.csv", "1.wav,one\n")).size(), 1u);
}

/// An index must notice when a shard changes.
TEST_F(ShardsTest, AreSourcesOfTheIndex) {
  Faults faults;
  ManifestSink sink{[](const ManifestEntry&) {}};
  read_manifest(in("b/1/sharded_manifests/manifest_{0..1}.json"), sink, faults);
  for (const char* source : {"b/1/sharded_manifests/manifest_0.json",
                             "b/1/sharded_manifests/manifest_1.json", "b/1/audio_1.tar"})
    EXPECT_EQ(std::ranges::count(sink.sources, in(source)), 1) << source;
}

/// The likeliest mistakes, and what is said of them. Those of single lines are in NemoTest.
TEST_F(ShardsTest, SayWhatToDoAboutMistakes) {
  expect_parts(refusal("b/1/sharded_manifests/manifest__OP_0..3_CL_.json"),
               {"manifest__OP_0..3_CL_.json: stands for 4 files, but 2 are missing, the first of "
                "them ",
                "/manifest_2.json: copy them, or name those alone that are there"});
  expect_parts(refusal("b/1/sharded_manifests/manifest__OP_0..2_CL_.json"),
               {"stands for 3 files, but 1 is missing"});
  expect_parts(refusal("b/1/manifest__OP_0..1_CL_.json"),
               {"stands for 2 files, but 2 are missing, the first of them ",
                "b/1/manifest_0.json: correct its name"});
  expect_parts(
      refusal("b/1/audio__OP_0..1_CL_.tar"),
      {"names NeMo's tars, which hold no texts: name what lists them, ", "b/1/sharded_manifests"});
  put("c/audio_0.tar", TarWriter().add("a.wav", "sound").bytes());
  put("c/tarred_audio_manifest.json", "");
  expect_parts(refusal("c/audio_{0..0}.tar"),
               {"name what lists them, ", "c/tarred_audio_manifest.json"});
  expect_parts(refusal("b/1/sharded_manifests/manifest__OP_0-1_CL_.json"),
               {"manifest__OP_0-1_CL_.json: no such file or folder"});
  expect_parts(refusal("b/1/sharded_manifests/manifest_{0..1.json"), {"no such file or folder"});
  expect_parts(refusal("b/{0..999999}/a.json"),
               {"stands for more than 100000 files: name fewer at a time"});
  std::filesystem::remove(in("b/1/audio_1.tar"));
  expect_parts(refusal("b/1/sharded_manifests/manifest__OP_0..1_CL_.json"),
               {"1 faults", "manifest_1.json:1: is of shard 1, but there is no audio_1.tar in "});
}

}  // namespace
}  // namespace penstock::runtime
