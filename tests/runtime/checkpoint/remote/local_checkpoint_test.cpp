#include "runtime/checkpoint/remote/local_checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_run.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/store/server_script.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename()] = test::read_file(entry.path());
  return files;
}

/// A run in a store, with checkpoints of steps 10 and 20, and an empty cache.
class LocalCopies : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(StoreUrl{StoreKind::s3, "bucket", "run"}, server_.store());
    server_.set_environment();
    for (const std::int64_t step : {10, 20})
      newest_ = run_->upload(test::save_example(output(), step, 2), [](std::uint64_t) {});
    server_.set_faults();
  }
  CheckpointPlace local(const std::string& url) const {
    return local_checkpoint(url, {folder_.path() / "cache"});
  }
  fs::path output() const { return folder_.path() / "output"; }
  int requests() const { return server_.counts()["requests"]; }
  /// Returns true if the cache holds nothing that looks like a checkpoint.
  bool is_clean() const {
    const fs::path cached = folder_.path() / "cache/checkpoints";
    for (const auto& entry : fs::recursive_directory_iterator(cached))
      if (entry.is_directory()) return false;
    return true;
  }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<RemoteRun> run_;
  RemoteCheckpoint newest_;
};

TEST_F(LocalCopies, HaveTheBytesOfTheirUrl) {
  const CheckpointPlace place = local("s3://bucket/run");
  EXPECT_EQ(place.name(), "s3://bucket/run/" + newest_.name);
  EXPECT_EQ(files_in(place.folder), files_in(output() / "checkpoint-000000020"));
  const int before = requests();
  EXPECT_EQ(local("s3://bucket/run").folder, place.folder);
  EXPECT_LT(requests() - before, 6);  // it asks which is the newest, and downloads nothing
  Checkpoint(place).verify();
}

TEST_F(LocalCopies, FollowTheRun) {
  EXPECT_EQ(Checkpoint(local("s3://bucket/run")).state().step, 20);
  (void)run_->upload(test::save_example(output(), 30, 1), [](std::uint64_t) {});
  EXPECT_EQ(Checkpoint(local("s3://bucket/run")).state().step, 30);
}

TEST_F(LocalCopies, DamagedObjectsDoNotStay) {
  const std::string key = run_->key(newest_, "stage-0.safetensors");
  const std::string whole = run_->store().get(key).value();
  std::string shard = whole;
  shard.back() = static_cast<char>(shard.back() ^ 1);
  run_->store().put(key, test::bytes(shard));
  const auto complaint = [&] {
    return test::message_of<CheckpointError>([&] { (void)local("s3://bucket/run"); });
  };
  const std::string flipped = complaint();
  EXPECT_NE(flipped.find(newest_.name + " has arrived with other bytes than its manifest says"),
            std::string::npos)
      << flipped;
  EXPECT_TRUE(is_clean());
  run_->store().put(key, test::bytes("short"));
  EXPECT_NE(complaint().find("has 5 bytes, but the manifest says"), std::string::npos);
  run_->store().remove(key);
  EXPECT_NE(complaint().find("stage-0.safetensors is not there"), std::string::npos);
  run_->store().put(key, test::bytes(whole));
  EXPECT_EQ(Checkpoint(local("s3://bucket/run")).state().step, 20);
}

TEST_F(LocalCopies, ArriveThroughFaults) {
  server_.set_faults({{"seed", 5},
                      {"most", 12},
                      {"only", "GET .*stage"},
                      {"chances", {{"truncate", 0.5}, {"503", 0.3}}}});
  EXPECT_EQ(files_in(local("s3://bucket/run").folder), files_in(output() / "checkpoint-000000020"));
  EXPECT_GT(server_.faults(), 0);
}

// All that was downloaded stays, but is no checkpoint until the rest is there.
TEST_F(LocalCopies, GoOnAfterARefusal) {
  server_.set_faults({{"only", "GET .*stage-1"}, {"chances", {{"403", 1}}}});
  EXPECT_THROW((void)local("s3://bucket/run"), CheckpointError);
  for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/checkpoints")) {
    EXPECT_TRUE(entry.is_regular_file() || entry.path().extension() == ".partial") << entry.path();
  }
  server_.set_faults({{"only", "GET .*stage-0"}, {"chances", {{"delay", 1}}}});
  EXPECT_EQ(files_in(local("s3://bucket/run").folder), files_in(output() / "checkpoint-000000020"));
  EXPECT_EQ(server_.faults(), 0);  // each request for the first file counts as one
}

TEST_F(LocalCopies, AreOpenedByAllRanks) {
  const CacheFolder cache = {folder_.path() / "cache"};
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Checkpoint checkpoint = open_together(world, "s3://bucket/run", {.cache = cache});
    EXPECT_EQ(checkpoint.state().step, 20);
    EXPECT_EQ(checkpoint.place().url, "s3://bucket/run/" + newest_.name);
    EXPECT_NE(checkpoint.place().in_use, nullptr);
  });
}

TEST_F(LocalCopies, FlippedBytesAreRefusedWithTheRemedy) {
  const CacheFolder cache = {folder_.path() / "cache"};
  const fs::path shard = local("s3://bucket/run").folder / "stage-1.safetensors";
  std::string bytes = test::read_file(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_file(shard, bytes);
  const std::string message = test::message_of<CheckpointError>([&] {
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      (void)open_together(world, "s3://bucket/run", {.cache = cache});
    });
  });
  EXPECT_NE(message.find("This is the copy of s3://bucket/run/" + newest_.name), std::string::npos)
      << message;
  EXPECT_NE(message.find("\n  rm -r " + shard.parent_path().string()), std::string::npos);
  fs::remove_all(shard.parent_path());
  EXPECT_EQ(Checkpoint(local("s3://bucket/run")).state().step, 20);
}

TEST_F(LocalCopies, AreNamedByTheirRun) {
  const auto named = named_checkpoints("s3://bucket/run");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].step, 10);
  EXPECT_EQ(named[1].name, "s3://bucket/run/" + newest_.name);
  EXPECT_EQ(named_checkpoints(output())[1].name, output() / "checkpoint-000000020");
  EXPECT_EQ(metrics_of("s3://bucket/run"), "");
  run_->store().put("run/metrics.jsonl", test::bytes("lines\n"));
  EXPECT_EQ(metrics_of("s3://bucket/run"), "lines\n");
  EXPECT_EQ(metrics_of(output()), "");
}

TEST_F(LocalCopies, AreMarkedInTheirRun) {
  EXPECT_FALSE(best_mark("s3://bucket/run"));
  EXPECT_FALSE(best_mark(output()));
  mark_best(output(), {10, "loss", 0.5});
  run_->store().put("run/BEST", test::bytes(test::read_file(output() / "BEST")));
  for (const fs::path& run : {fs::path("s3://bucket/run"), output()})
    EXPECT_EQ(best_mark(run)->metric, "loss") << run;
  run_->store().put("run/BEST", test::bytes("{}"));
  EXPECT_THROW((void)best_mark("s3://bucket/run"), CheckpointError);
}

// A web server has no lists: LATEST or a checkpoint's own folder leads on.
TEST(LocalWebCopies, NeedNoList) {
  const test::TemporaryFolder served, cache;
  const fs::path saved = test::save_example(served.path() / "plain run", 10, 2);
  const test::ServerScript script("tests/support/store/web_server", served.path().string());
  const std::string server = fmt::format("http://127.0.0.1:{}/plain", script.line().substr(5));
  const auto local = [&](const std::string& url) {
    return local_checkpoint(url, {cache.path() / "cache"});
  };
  EXPECT_EQ(files_in(local(server + "/plain run/checkpoint-000000010").folder), files_in(saved));
  const std::string listless =
      test::message_of<CheckpointError>([&] { (void)local(server + "/plain run"); });
  EXPECT_NE(listless.find("nor LATEST, a file"), std::string::npos) << listless;
  test::write_file(saved.parent_path() / "LATEST", "checkpoint-000000010\n");
  EXPECT_EQ(Checkpoint(local(server + "/plain run")).state().step, 10);
}

TEST(LocalFolders, StayWhereTheyAre) {
  const test::TemporaryFolder folder;
  const fs::path saved = test::save_example(folder.path(), 10, 2);
  const CheckpointPlace place = local_checkpoint(folder.path());
  EXPECT_EQ(place.folder, saved);
  EXPECT_EQ(place.name(), saved.string());
  EXPECT_EQ(with_remedy(place, "fault"), "fault");
}

}  // namespace
}  // namespace penstock::runtime
