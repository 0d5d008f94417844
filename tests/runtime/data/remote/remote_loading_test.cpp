#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/audio/loader.h"
#include "runtime/data/index/index.h"
#include "runtime/data/remote/remote_files.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

// Manifests, indexes and loaders give for data of a store what they give for local files.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

configs::FeatureConfig narrow_features() {
  configs::FeatureConfig features;
  features.sample_rate = 8000;
  features.window_ms = 10;
  features.hop_ms = 5;
  return features;
}

/// A corpus of tones, on this machine and in a store.
class RemoteLoading : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    store_.emplace(server_.store());
    server_.set_environment();
    test::write_tone_corpus(data_.path() / "train.jsonl", kUtterances, 5);
    upload("set", data_.path());
  }

  void upload(const std::string& prefix, const fs::path& folder) {
    for (const auto& item : fs::directory_iterator(folder))
      if (item.is_regular_file())
        store_->put(fmt::format("{}/{}", prefix, item.path().filename().string()),
                    test::bytes(test::read_file(item.path())));
  }

  /// Packs the corpus into two WebDataset tars, here and in the store. Returns their folder.
  fs::path pack() {
    fs::path folder = data_.path() / "tars";
    fs::create_directory(folder);
    std::vector<test::TarWriter> tars(2);
    std::ifstream lines(data_.path() / "train.jsonl");
    int number = 0;
    for (std::string text; std::getline(lines, text); ++number) {
      const auto line = nlohmann::json::parse(text);
      const std::string audio = line["audio_filepath"];
      tars[number % 2]
          .add(fmt::format("u{:03}.wav", number), test::read_file(data_.path() / audio))
          .add(fmt::format("u{:03}.txt", number), line["text"]);
    }
    for (const int i : {0, 1})
      test::write_file(folder / fmt::format("shard-{}.tar", i), tars[i].bytes());
    upload("tars", folder);
    return folder;
  }

  std::shared_ptr<RemoteFiles> files(std::uint64_t bytes = 64 << 20) const {
    RemoteFilesOptions options{.cache = cache_.path(), .bytes = bytes};
    options.first.retries.seconds = options.later.retries.seconds = 5;
    return std::make_shared<RemoteFiles>(options);
  }

  /// Returns each utterance's text, place and length, and its features in bytes.
  std::vector<std::string> loaded(const std::string& name,
                                  const std::shared_ptr<RemoteFiles>& files) const {
    const LocalFile manifest = files->open_manifest(name);
    const FoundIndex found = find_index(
        {.manifest = manifest.path, .cache = {.path = cache_.path()}, .files = files.get()});
    const fs::path folder = folder_of(manifest.path);
    const UtteranceIndex& index = found.index;
    const auto source = [&](std::uint64_t u) {
      return AudioSource{files->path(folder, std::string(index.path(u))), index.length(u),
                         index.first(u)};
    };
    FeatureLoader loader(source, narrow_features(), {.threads = 2, .files = files});
    for (std::size_t u = 0; u < index.size(); ++u) {
      MicroBatch batch;
      batch.utterances = {shape_utterance(u, index.length(u), 1, narrow_features())};
      loader.push(0, batch);
    }
    std::vector<std::string> all;
    for (std::size_t u = 0; u < index.size(); ++u) {
      const LoadedBatch batch = loader.take();
      EXPECT_EQ(batch.weights.front(), 1.0f);
      all.push_back(
          fmt::format("{} {} {} ", index.where(u), index.text(u), index.length(u).samples) +
          std::string(reinterpret_cast<const char*>(batch.x_FC.data()),
                      batch.x_FC.size() * sizeof(float)));
    }
    return all;
  }

  static constexpr int kUtterances = 30;
  test::StoreServer server_;
  test::TemporaryFolder data_, cache_;
  std::optional<S3Store> store_;
};

TEST_F(RemoteLoading, RecordingsGiveTheSameBits) {
  const auto local = loaded((data_.path() / "train.jsonl").string(), files());
  ASSERT_EQ(local.size(), kUtterances);
  EXPECT_EQ(loaded("s3://bucket/set/train.jsonl", files()), local);
  server_.set_faults({{"chances", {{"truncate", 0.1}, {"refuse", 0.1}, {"503", 0.1}}}});
  fs::remove_all(cache_.path() / "remote");
  EXPECT_EQ(loaded("s3://bucket/set/train.jsonl", files()), local);
  EXPECT_GT(server_.faults(), 0);
}

TEST_F(RemoteLoading, TarsGiveTheSameBits) {
  const auto local = loaded(pack().string(), files());
  ASSERT_EQ(local.size(), kUtterances);
  EXPECT_EQ(loaded("s3://bucket/tars", files()), local);
  fs::remove_all(cache_.path() / "remote");
  EXPECT_EQ(loaded("s3://bucket/tars", files(60'000)), local);  // no room for a tar
  EXPECT_FALSE(fs::is_empty(cache_.path() / "remote/parts"));
}

TEST_F(RemoteLoading, AReadyIndexNeedsNoRecordings) {
  (void)find_index({.manifest = files()->open_manifest("s3://bucket/set/train.jsonl").path,
                    .cache = {.path = cache_.path()},
                    .files = files().get()});
  server_.set_faults();
  const auto again = files();
  (void)find_index({.manifest = again->open_manifest("s3://bucket/set/train.jsonl").path,
                    .cache = {.path = cache_.path()},
                    .files = again.get()});
  EXPECT_EQ(server_.counts()["requests"], 1);  // for the manifest
}

TEST_F(RemoteLoading, LocalManifestsNameUrls) {
  std::string lines = test::read_file(data_.path() / "train.jsonl");
  const std::string from = "\"train-", to = "\"s3://bucket/set/train-";
  for (std::size_t at = lines.find(from); at != std::string::npos; at = lines.find(from, at + 20))
    lines.replace(at, from.size(), to);
  fs::create_directory(data_.path() / "urls");
  test::write_file(data_.path() / "urls/train.jsonl", lines);
  EXPECT_EQ(loaded((data_.path() / "urls/train.jsonl").string(), files()),
            loaded((data_.path() / "train.jsonl").string(), files()));
}

}  // namespace
}  // namespace penstock::runtime
