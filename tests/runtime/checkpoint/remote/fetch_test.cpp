#include "runtime/checkpoint/remote/fetch.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/store/store_error.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A store with checkpoints of steps 10 and 20, and an empty folder.
class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(StoreUrl{StoreKind::s3, "bucket", "run"}, server_.store());
    for (const std::int64_t step : {10, 20})
      newest_ = run_->upload(test::save_example(folder_.path() / "source", step, 2),
                             [](std::uint64_t) {});
  }
  void fetch() {
    fetch_newest(*run_, output(), [this](const std::string& note) { notes_ += note + "\n"; });
  }
  bool has(const std::string& name) const { return std::filesystem::exists(output() / name); }
  std::filesystem::path output() const { return folder_.path() / "output"; }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<RemoteRun> run_;
  RemoteCheckpoint newest_;
  std::string notes_;
};

TEST_F(Fetch, BringsTheNewestAndItsMetrics) {
  run_->store().put("run/metrics.jsonl", test::bytes("lines\n"));
  fetch();
  EXPECT_TRUE(has("checkpoint-000000020"));
  EXPECT_FALSE(has("checkpoint-000000010"));
  EXPECT_EQ(test::read_file(output() / "metrics.jsonl"), "lines\n");
  EXPECT_EQ(open_checkpoint(output()).state().step, 20);
}

TEST_F(Fetch, LeavesANewerFolderAlone) {
  test::save_example(output(), 30, 1);
  fetch();
  EXPECT_FALSE(has("checkpoint-000000020"));
  EXPECT_EQ(notes_, "");
}

TEST_F(Fetch, PassesOverABrokenOne) {
  run_->store().put(run_->key(newest_, "stage-1.safetensors"), test::bytes("nonsense"));
  fetch();
  EXPECT_TRUE(has("checkpoint-000000010"));
  EXPECT_FALSE(has("checkpoint-000000020"));
  EXPECT_NE(notes_.find("is passed over"), std::string::npos) << notes_;
}

TEST_F(Fetch, FindsAFlippedBit) {
  const std::string key = run_->key(newest_, "stage-0.safetensors");
  std::string shard = run_->store().get(key).value();
  shard.back() = static_cast<char>(shard.back() ^ 1);
  run_->store().put(key, test::bytes(shard));
  EXPECT_THROW((void)download_checkpoint(*run_, newest_, output()), CheckpointError);
  EXPECT_FALSE(has("checkpoint-000000020"));
}

TEST_F(Fetch, NeverBeginsAnewBesideBrokenOnes) {
  for (const RemoteCheckpoint& each : run_->list())
    run_->store().remove(run_->key(each, "stage-0.safetensors"));
  const std::string message = test::message_of<CheckpointError>([&] { fetch(); });
  EXPECT_NE(message.find("s3://bucket/run holds 2 checkpoints, but none is whole"),
            std::string::npos)
      << message;
}

TEST_F(Fetch, ADeadStoreEndsTheStart) {
  RemoteRun brief({StoreKind::s3, "bucket", "run"}, server_.store(0.3));
  server_.set_faults({{"chances", {{"refuse", 1}}}});
  EXPECT_THROW(fetch_newest(brief, output(), [](const std::string&) {}), StoreError);
}

TEST_F(Fetch, ANewRunRefusesAnothersCheckpoints) {
  const std::string message =
      test::message_of<CheckpointError>([&] { require_no_checkpoints(*run_); });
  EXPECT_NE(message.find("trainer.resume=true"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
