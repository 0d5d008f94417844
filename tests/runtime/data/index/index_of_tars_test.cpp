#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/data/audio/loader.h"
#include "runtime/data/index/index.h"
#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using test::TarWriter;

/// The same recordings as files and in tars: of ragged lengths, several formats and rates.
class IndexOfTars : public testing::Test {
 protected:
  IndexOfTars() {
    for (const auto& [name, samples, format] :
         {std::tuple{"a.wav", 4001, 0x010006}, std::tuple{"b.flac", 777, 0x170002},
          std::tuple{"c.wav", 16001, 0x010002}, std::tuple{"d.aiff", 1200, 0x020002},
          std::tuple{"e.wav", 333, 0x010002}})
      test::write_sound(in(name), test::make_sound(samples, ++seed_),
                        {format, samples % 2 == 0 ? 16000 : 8000});
    pack("audio_0.tar", {"c.wav", "a.wav"});
    pack("audio_1.tar", {"e.wav", "b.flac", "d.aiff"});
    test::write_file(in("plain.jsonl"), manifest(false));
    test::write_file(in("tarred_audio_manifest.json"), manifest(true));
  }
  fs::path in(const std::string& name) const { return folder_.path() / name; }
  std::string bytes_of(const std::string& name) const { return test::read_file(in(name)); }

  void pack(const std::string& tar, const Names& names) const {
    TarWriter writer;
    for (const std::string& name : names) writer.add(name, bytes_of(name)).add(name + ".txt", "t");
    test::write_file(in(tar), writer.bytes());
  }
  /// Three whole recordings, and segments of another, the last of which begins where no block does.
  static std::string manifest(bool tarred) {
    std::string lines;
    const auto add = [&](const char* name, const char* more, int shard) {
      lines += fmt::format(R"({{"audio_filepath": "{}", "text": "t{}"{}{}}})", name,
                           std::ranges::count(lines, '\n'), more,
                           tarred ? fmt::format(R"(, "shard_id": {})", shard) : "") +
               "\n";
    };
    add("b.flac", "", 1);
    add("c.wav", R"(, "offset": 0.0, "duration": 0.7)", 0);
    add("a.wav", R"(, "duration": 0.5)", 0);
    add(tarred ? "c-sub1.wav" : "c.wav", R"(, "offset": 1.337, "duration": 0.123)", 0);
    add("d.aiff", "", 1);
    add("e.wav", "", 1);
    return lines;
  }
  /// Finds the index of the tarred manifest, and keeps in mind which recordings were measured.
  UtteranceIndex index() {
    asked_ = measured_ = 0;
    return find_index({in("tarred_audio_manifest.json"), {in("cache")}, 3},
                      [&](std::span<const RecordingQuery> queries) {
                        RecordingAnswers answers = measure_recordings(queries, {folder_.path(), 3});
                        for (std::size_t i = 0; i < queries.size(); ++i) {
                          asked_ += 1;
                          measured_ +=
                              !queries[i].length.known() || queries[i].stamp != answers[i]->stamp;
                        }
                        return answers;
                      })
        .index;
  }
  void age(const std::string& name) const {
    fs::last_write_time(in(name), fs::file_time_type::clock::now() - std::chrono::minutes(60));
  }
  void age_all() const {
    for (const char* name : {"audio_0.tar", "audio_1.tar", "tarred_audio_manifest.json"}) age(name);
  }
  AudioSources sources(const UtteranceIndex& index) const {
    return [index, folder = folder_.path()](std::uint64_t u) {
      return AudioSource{folder / index.path(u), index.length(u), index.first(u)};
    };
  }

  test::TemporaryFolder folder_;
  unsigned seed_ = 0;
  int asked_ = 0, measured_ = 0;
};

TEST_F(IndexOfTars, IsThatOfThePlainFiles) {
  const UtteranceIndex plain = find_index({in("plain.jsonl"), {in("cache")}, 3}).index;
  const UtteranceIndex tarred = index();
  ASSERT_EQ(plain.size(), 6u);
  ASSERT_EQ(tarred.size(), 6u);
  EXPECT_EQ(tarred.recordings().size(), 5u);
  EXPECT_EQ(measured_, 5);
  for (std::size_t u = 0; u < plain.size(); ++u) {
    EXPECT_EQ(tarred.length(u), plain.length(u)) << u;
    EXPECT_EQ(tarred.first(u), plain.first(u)) << u;
    EXPECT_EQ(tarred.duration(u), plain.duration(u)) << u;
    EXPECT_EQ(tarred.text(u), plain.text(u)) << u;
    EXPECT_EQ(tar_member(tarred.path(u))->name, plain.path(u)) << u;
  }
}

/// In any order, at any speed, with any number of threads.
TEST_F(IndexOfTars, GivesTheFeaturesOfThePlainFiles) {
  const UtteranceIndex plain = find_index({in("plain.jsonl"), {in("cache")}, 3}).index;
  const UtteranceIndex tarred = index();
  configs::FeatureConfig features;
  features.sample_rate = 8000;
  const auto batch = [&](std::initializer_list<std::uint64_t> ids, double speed) {
    MicroBatch result;
    for (const std::uint64_t id : ids)
      result.utterances.push_back(shape_utterance(id, plain.length(id), speed, features));
    return result;
  };
  const std::vector<MicroBatch> batches = {batch({5, 3, 0}, 1), batch({1}, 0.9),
                                           batch({4, 2, 3, 1}, 1.1)};
  for (const int threads : {1, 4}) {
    FeatureLoader expected(sources(plain), features, {threads}),
        loaded(sources(tarred), features, {threads});
    for (FeatureLoader* loader : {&expected, &loaded})
      for (const MicroBatch& micro_batch : batches) loader->push(0, micro_batch);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const LoadedBatch a = expected.take(), b = loaded.take();
      EXPECT_FALSE(a.x_FC.empty());
      EXPECT_EQ(a.x_FC, b.x_FC);
      EXPECT_EQ(a.weights, b.weights);
    }
    EXPECT_EQ(expected.failed() + loaded.failed(), 0);
  }
}

/// Headers that nobody looks at may as well be gone.
TEST_F(IndexOfTars, ReadsNothingBesideAMember) {
  age_all();
  const UtteranceIndex made = index();
  const TarMember d = *tar_member(made.path(4));
  EXPECT_EQ(d.name, "d.aiff");
  const Audio whole = read_audio(in("d.aiff"));
  const std::string bytes = bytes_of("audio_1.tar");
  std::string blank(bytes.size(), '\xff');
  const auto from = static_cast<std::size_t>(d.first - 512),
             size = static_cast<std::size_t>(d.bytes + 512);
  blank.replace(from, size, bytes.substr(from, size));
  const auto changed = fs::last_write_time(in("audio_1.tar"));
  test::write_file(in("audio_1.tar"), blank);
  fs::last_write_time(in("audio_1.tar"), changed);
  EXPECT_EQ(index().id(), made.id());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(read_audio(folder_.path() / made.path(4)).samples, whole.samples);
}

TEST_F(IndexOfTars, FollowsItsTars) {
  age_all();
  (void)index();
  fs::last_write_time(in("audio_0.tar"), fs::file_time_type::clock::now() - std::chrono::hours(3));
  (void)index();
  EXPECT_EQ(measured_, 2);
  pack("audio_1.tar", {"b.flac", "d.aiff", "e.wav"});  // other places
  EXPECT_EQ(tar_member(index().path(0))->first, 512);
  EXPECT_EQ(measured_, 3);
  EXPECT_EQ(read_audio(folder_.path() / index().path(5)).samples, read_audio(in("e.wav")).samples);
  test::write_file(in("tarred_audio_manifest.json"),
                   manifest(true) + R"({"audio_filepath": "e.wav", "text": "t", "shard_id": 2})");
  age_all();
  EXPECT_EQ(index().faults().size(), 1u);
  EXPECT_EQ(index().faults().size(), 1u);
  EXPECT_EQ(asked_, 0);
  pack("audio_2.tar", {"e.wav"});
  EXPECT_EQ(index().size(), 7u);
  EXPECT_EQ(index().faults().size(), 0u);
}

/// While a run goes on, or where nobody looks: as recordings that were replaced.
TEST_F(IndexOfTars, ChangedTarFailsWhenItIsRead) {
  const UtteranceIndex made = index();
  configs::FeatureConfig features;
  features.sample_rate = 8000;
  MicroBatch batch;
  for (const std::uint64_t id : {0, 5, 2})
    batch.utterances.push_back(shape_utterance(id, made.length(id), 1, features));
  pack("audio_1.tar", {"d.aiff", "b.flac", "e.wav"});
  FeatureLoader loader(sources(made), features, {1});
  loader.push(0, batch);
  EXPECT_EQ(loader.take().weights, (std::vector<float>{0, 0, 1}));
  ASSERT_EQ(loader.failures().size(), 2u);
  EXPECT_EQ(loader.failures()[0].why,
            in("audio_1.tar").string() +
                ":b.flac: no longer lies where it was indexed: the tar has changed. Index its "
                "manifest anew, by penstock data index");
  fs::remove(in("audio_1.tar"));
  EXPECT_EQ(test::message_of<DataError>([&] { (void)read_audio(folder_.path() / made.path(5)); }),
            in("audio_1.tar").string() + ":e.wav: no such file");
}

TEST_F(IndexOfTars, NamesMembersThatCannotBeUsed) {
  test::write_file(in("audio_1.tar"), TarWriter()
                                          .add("b.flac", "no sound")
                                          .add("d.aiff", "")
                                          .add("e.wav", bytes_of("e.wav").substr(0, 300))
                                          .bytes());
  const auto faults = index().faults();
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_NE(faults[0].what.find("audio_1.tar:b.flac: not audio"), std::string::npos)
      << faults[0].what;
  EXPECT_NE(faults[1].what.find("audio_1.tar:d.aiff: empty file"), std::string::npos)
      << faults[1].what;
  EXPECT_NE(faults[2].what.find("audio_1.tar:e.wav: truncated"), std::string::npos)
      << faults[2].what;
}

}  // namespace
}  // namespace penstock::runtime
