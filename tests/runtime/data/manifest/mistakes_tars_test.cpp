#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/corpus_mistakes.h"
#include "tests/support/runtime/tar_writer.h"

namespace penstock::runtime {
namespace {

using test::CorpusFiles, test::expect_accepted, test::expect_refused, test::lfs_pointer,
    test::Mistake, test::sound_bytes, test::TarWriter, test::web_page;

/// Tests the likeliest mistakes with tars: shards of WebDataset and of NeMo, and their patterns.
class TarMistakes : public testing::Test {
 protected:
  static std::string shard(const std::string& text = "one") {
    return TarWriter().add("a.wav", sound_bytes()).add("a.txt", text).bytes();
  }
  static CorpusFiles webdataset() { return {{"w/s_0.tar", shard()}, {"w/s_2.tar", shard()}}; }

  static std::string line(const std::string& name, const std::string& shard_id) {
    return R"({"audio_filepath": ")" + name + R"(", "text": "one", "shard_id": )" + shard_id +
           "}\n";
  }
  static CorpusFiles nemo() {
    return {{"n/audio_0.tar", TarWriter().add("a.wav", sound_bytes()).bytes()},
            {"n/tarred_audio_manifest.json", line("a.wav", "0")}};
  }
};

TEST_F(TarMistakes, WebdatasetWithItsFilesAmiss) {
  const auto said = [](const std::string& bytes, std::vector<std::string> parts) {
    return Mistake{"w/s_0.tar", std::move(parts), {{"w/s_0.tar", bytes}}};
  };
  expect_refused(
      webdataset(),
      {said(TarWriter().add("L/1-2-3.flac", sound_bytes()).add("L/1-2.trans.csv", "").bytes(),
            {"s_0.tar: has 1 recording, and no text of the key of any: if it is the archive of a "
             "corpus, unpack it, by tar -xf "}),
       said(TarWriter().add("a.wav", "").add("a.txt", "one").add("b.wav", "").bytes(),
            {"s_0.tar:b.wav: has no transcript in the tar: b.txt"}),
       said(TarWriter().add("a.txt", "one").bytes(),
            {"s_0.tar:a.txt: has no recording of its key in the tar"}),
       said(TarWriter().add("a.wav", web_page()).add("a.txt", "one").bytes(),
            {"s_0.tar:a.wav: not audio that libsndfile can read: it is a web page"}),
       said(shard("\xfc"), {"s_0.tar:a.wav: its text is not UTF-8 at byte 0"}),
       said(shard().substr(0, 5000), {"is cut: its member a.wav needs 16044 bytes"}),
       said(web_page(), {"s_0.tar: is no tar: it is a web page"}),
       said(lfs_pointer(), {"s_0.tar: is no tar: it is a pointer of Git LFS"}),
       said("", {"s_0.tar: empty file"}),
       {"w/s_0.tar.gz",
        {"is a compressed archive: unpack it, by tar -xf ", "gzip -d"},
        {{"w/s_0.tar.gz", "\x1f\x8b"}}},
       {"w/s_0.tgz", {"s_0.tgz: is a web page"}, {{"w/s_0.tgz", web_page()}}},
       {"w/S_0.tar", {"no such file or folder; did you mean s_0.tar?"}}});
  expect_accepted(webdataset(), "w", 2);
}

TEST_F(TarMistakes, PatternsOfShards) {
  expect_refused(
      webdataset(),
      {{"w/s_{0..2}.tar",
        {"stands for 3 files, but 1 is missing, the first of them ", "s_1.tar: copy them"}},
       {"w/s__OP_0..2_CL_.tar", {"stands for 3 files, but 1 is missing"}},
       {"w/t_{0..2}.tar", {"stands for 3 files, but 3 are missing", "correct its name"}},
       {"w/s__OP_0..2.tar",
        {"no such file or folder: its pattern is not complete. Shards are named {0..7}"}},
       {"w/s_0..2_CL_.tar", {"its pattern is not complete"}},
       {"w/s_{0.2}.tar", {"its pattern is not complete"}},
       {"w/s_{0-2}.tar", {"its pattern is not complete"}},
       {"w/s_{0..2.tar", {"its pattern is not complete"}},
       {"w/s_*.tar", {"no such file or folder: * and ? are not expanded. Name shards as {0..7}"}},
       {"w/{0..999999}.tar", {"stands for more than 100000 files: name fewer at a time"}}});
  expect_accepted(webdataset(), "w/s_{0..2..2}.tar", 2);
}

/// Shards of one name in several folders are told apart.
TEST_F(TarMistakes, FaultsOfBucketsNameTheirFolders) {
  const CorpusFiles buckets{{"b/bucket_1/t.jsonl", "{}\n"}, {"b/bucket_2/t.jsonl", "\n{}\n"}};
  expect_refused(buckets, {{"b/bucket_{1..2}/t.jsonl",
                            {"bucket_1/t.jsonl:1: has no", "bucket_2/t.jsonl:2: has no"}}});
  const std::string cut = R"({"type": "MonoCut", "start": 0, "duration": 1})"
                          "\n";
  const CorpusFiles cuts{{"b/bucket_1/c.jsonl", cut}, {"b/bucket_2/c.jsonl", cut}};
  expect_refused(cuts, {{"b/bucket_{1..2}/c.jsonl",
                         {"bucket_1/c.jsonl:1: has no", "bucket_2/c.jsonl:1: has no"}}});
}

/// A folder's name may be the beginning of another's.
TEST_F(TarMistakes, FaultsNameTheWholeFolder) {
  CorpusFiles buckets{{"train/t.jsonl", "{}\n"}, {"train_extra/t.jsonl", "{}\n"}};
  for (const std::string name : {"bucket_", "bucket"}) {
    for (int i = 2; i <= 9; ++i) buckets[fmt::format("{}{}/t.jsonl", name, i)] = "";
    for (int i : {1, 9, 10}) buckets[fmt::format("{}{}/t.jsonl", name, i)] = "{}\n";
  }
  expect_refused(buckets, {{"bucket_{1..10}/t.jsonl",
                            {"  bucket_1/t.jsonl:1: has no", "  bucket_9/t.jsonl:1: has no",
                             "  bucket_10/t.jsonl:1: has no"}},
                           {"bucket{1..10}/t.jsonl",
                            {"  bucket1/t.jsonl:1: has no", "  bucket10/t.jsonl:1: has no"}},
                           {"{train,train_extra}/t.jsonl",
                            {"  train/t.jsonl:1: has no", "  train_extra/t.jsonl:1: has no"}}});
}

TEST_F(TarMistakes, FaultsOfTarsNameTheirFolders) {
  const std::string bad = TarWriter().add("a.txt", "one").bytes();
  const CorpusFiles buckets{
      {"w/1/s.tar", bad}, {"w/2/s.tar", shard()}, {"w/10/s.tar", bad}, {"w/10/t.tar", shard()}};
  expect_refused(
      buckets,
      {{"w/{1,2,10}/s.tar", {"  1/s.tar:a.txt: has no recording", "  10/s.tar:a.txt: has no"}},
       {"w/{1,2,10}", {"  1/s.tar:a.txt: has no recording", "  10/s.tar:a.txt: has no"}},
       {"w/10", {"  s.tar:a.txt: has no recording"}}});
}

TEST_F(TarMistakes, NemoWithItsFilesAmiss) {
  const std::string all = "n/tarred_audio_manifest.json";
  const auto said = [&](const std::string& text, std::vector<std::string> parts) {
    return Mistake{"n", std::move(parts), {{all, text}}};
  };
  expect_refused(
      nemo(),
      {{"n/audio_{0..0}.tar",
        {"names NeMo's tars, which hold no texts: name what lists them, ",
         "tarred_audio_manifest.json"}},
       {"n/audio_0.tar", {"has 1 recording, and no text of the key of any"}},
       {"n", {"is of shard 0, but there is no audio_0.tar in "}, {}, {"n/audio_0.tar"}},
       said(line("a.wav", "0") + line("a.wav", "1"),
            {"tarred_audio_manifest.json:2: is of shard 1, but there is no audio_1.tar"}),
       said(line("b.wav", "0"),
            {"tarred_audio_manifest.json:1: ",
             "audio_0.tar: has no member \"b.wav\" among its 1 file, such as \"a.wav\""}),
       said(line("a.wav", "\"0\""), {"its shard_id \"0\" is not a whole number from 0 on"}),
       said(line("a.wav", "0") + "{\"audio_filepath\"", {"tarred_audio_manifest.json:2: bad JSON"}),
       said("[" + line("a.wav", "0") + "]", {"tarred_audio_manifest.json:1: bad JSON"}),
       said(web_page(), {"tarred_audio_manifest.json: is a web page"}),
       {"n",
        {"audio_0.tar: is no tar: it is a pointer of Git LFS"},
        {{"n/audio_0.tar", lfs_pointer()}}},
       {"n", {"audio_0.tar: is cut"}, {{"n/audio_0.tar", shard().substr(0, 5000)}}},
       {"n",
        {"has no transcripts that are known"},
        {{"n/audio_0.tar.gz", "\x1f\x8b"}},
        {all, "n/audio_0.tar"}}});
  expect_accepted(nemo(), "n", 1);
}

}  // namespace
}  // namespace penstock::runtime
