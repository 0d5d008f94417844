#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/runtime/tar_writer.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/store/store_server.h"

namespace penstock::tools {
namespace {

using test::Outcome;
using test::Ranks;

/// Trainings on data of a store on this machine.
class RemoteData : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    store_.emplace(server_.store());
    server_.set_environment();
    for (const auto& item : std::filesystem::directory_iterator(folder_.in(""))) {
      const std::string name = item.path().filename();
      if (item.is_regular_file() && name != "recipe.toml")
        store_->put("set/" + name, test::bytes(test::read_file(item.path())));
    }
  }

  /// Returns the penstock command's outcome for 4 steps on these data.
  Outcome train(const std::string& output, const std::string& data,
                std::vector<std::string> overrides = {}, Ranks ranks = {}) {
    overrides.insert(overrides.begin(),
                     {"trainer.steps=4", "trainer.validate_every=-1", "data.train=" + data,
                      "data.validation=", "data.cache=" + folder_.in("cache")});
    return folder_.train(output, std::move(overrides), ranks);
  }

  /// Packs the training set into two WebDataset tars. Returns the bytes of all recordings.
  std::uint64_t pack() {
    std::filesystem::create_directory(folder_.in("tars"));
    std::vector<test::TarWriter> tars(2);
    std::uint64_t sum = 0;
    std::ifstream lines(folder_.in("train.jsonl"));
    int number = 0;
    for (std::string text; std::getline(lines, text); ++number) {
      const auto line = nlohmann::json::parse(text);
      const std::filesystem::path audio = line["audio_filepath"].get<std::string>();
      const std::string sound = test::read_file(std::filesystem::path(folder_.in("")) / audio);
      sum += sound.size();
      const std::string key = fmt::format("u{:03}", number);
      tars[number % 2].add(key + ".wav", sound).add(key + ".txt", line["text"]);
    }
    for (const int i : {0, 1}) {
      const std::string name = fmt::format("shard-{}.tar", i);
      test::write_file(folder_.in("tars/" + name), tars[i].bytes());
      store_->put("tars/" + name, test::bytes(tars[i].bytes()));
    }
    return sum;
  }

  test::StoreServer server_;
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::optional<runtime::S3Store> store_;
};

TEST_F(RemoteData, ManifestsGiveTheSameBits) {
  const Outcome local = train("local", folder_.in("train.jsonl"));
  ASSERT_EQ(local.code, 0) << local.err;
  const Outcome remote = train("remote", "s3://bucket/set/train.jsonl");
  ASSERT_EQ(remote.code, 0) << remote.err;
  EXPECT_EQ(folder_.record("remote"), folder_.record("local"));
  const Outcome ranks = train("ranks", "s3://bucket/set/train.jsonl",
                              {"pipeline.stages=2", "pipeline.replicas=2"}, {.count = 4});
  ASSERT_EQ(ranks.code, 0) << ranks.err;
  EXPECT_EQ(folder_.record("ranks"), folder_.record("local"));
}

TEST_F(RemoteData, TarsGiveTheSameBits) {
  const std::uint64_t sum = pack();
  const Outcome local = train("local", folder_.in("tars"));
  ASSERT_EQ(local.code, 0) << local.err;
  const Outcome remote = train("remote", "s3://bucket/tars/");
  ASSERT_EQ(remote.code, 0) << remote.err;
  EXPECT_EQ(folder_.record("remote"), folder_.record("local"));
  // Less than a tar has room now, so members come alone; the index is there already.
  const double gib = static_cast<double>(sum) / 4 / (1 << 30);
  std::filesystem::remove_all(folder_.in("cache/remote/s3/bucket/tars"));
  const Outcome small =
      train("small", "s3://bucket/tars/", {fmt::format("data.cache_gib={}", gib)});
  ASSERT_EQ(small.code, 0) << small.err;
  EXPECT_EQ(folder_.record("small"), folder_.record("local"));
}

TEST_F(RemoteData, FaultsAreToldInSeconds) {
  const auto refused = [&](const std::string& data, const std::string& reason) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = train("refused", data);
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << reason;
  };
  refused("s3://bucket/none.jsonl", "manifest s3://bucket/none.jsonl: no such object or folder");
  refused("s3://nowhere/train.jsonl", "There is no bucket 'nowhere' there");
  refused("http://example.org/train.jsonl", "use https://");
  store_->put("set/evil.jsonl", test::bytes(R"({"audio_filepath": "/etc/passwd", "text": "a"})"));
  refused("s3://bucket/set/evil.jsonl", "names /etc/passwd, a file of this machine");
  store_->put("set/gone.jsonl", test::bytes(R"({"audio_filepath": "gone.wav", "text": "a"})"));
  refused("s3://bucket/set/gone.jsonl", "s3://bucket/set/gone.wav: no such object");
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  refused("s3://bucket/set/train.jsonl", "can't be reached");
}

TEST_F(RemoteData, OtherCommandsTakeUrls) {
  ASSERT_EQ(train("run", "s3://bucket/set/train.jsonl").code, 0);
  ::setenv("XDG_CACHE_HOME", folder_.in("home").c_str(), 1);
  const auto ran = [&](std::vector<std::string> words) {
    const Outcome outcome = folder_.run(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto same = [&](const std::vector<std::string>& before, const std::string& name,
                        const std::vector<std::string>& after = {}) {
    std::vector<std::string> local = before, remote = before;
    local.push_back(folder_.in(name));
    remote.push_back("s3://bucket/set/" + name);
    local.insert(local.end(), after.begin(), after.end());
    remote.insert(remote.end(), after.begin(), after.end());
    std::string expected = ran(local);  // but for the manifest's name, where it is printed
    const std::size_t name_at = expected.find(folder_.in(name));
    if (name_at != std::string::npos)
      expected.replace(name_at, folder_.in(name).size(), "s3://bucket/set/" + name);
    EXPECT_EQ(ran(remote), expected);
  };
  same({"evaluate", folder_.in("run")}, "validation.jsonl");
  same({"data", "summary"}, "train.jsonl");
  same({"data", "verify"}, "train.jsonl");
  same({"data", "alphabet"}, "train.jsonl", {"--json"});
  const std::string made = folder_.in("made.jsonl");
  ran({"data", "make", "s3://bucket/set/train.jsonl", "--output", made});
  EXPECT_NE(test::read_file(made).find("\"s3://bucket/set/"), std::string::npos);
  ASSERT_EQ(train("made", made).code, 0);
  EXPECT_EQ(folder_.record("made"), folder_.record("run"));
  const std::string transcripts =
      ran({"transcribe", folder_.in("run"), "--manifest", "s3://bucket/set/validation.jsonl"});
  EXPECT_EQ(std::ranges::count(transcripts, '\n'), 7);
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace penstock::tools
