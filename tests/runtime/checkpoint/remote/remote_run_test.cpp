#include "runtime/checkpoint/remote/remote_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/checkpoint/remote/fetch.h"
#include "runtime/store/store_error.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A local output folder and a run in a store.
class Remote : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(StoreUrl{StoreKind::s3, "bucket", "runs/one"}, server_.store());
  }

  /// Saves the example of that step and uploads it.
  RemoteCheckpoint upload(std::int64_t step) {
    return run_->upload(test::save_example(output(), step, 2), [](std::uint64_t) {});
  }
  std::vector<std::int64_t> steps() {
    std::vector<std::int64_t> steps;
    for (const RemoteCheckpoint& each : run_->list()) steps.push_back(each.step);
    return steps;
  }
  std::size_t objects() { return run_->store().list("runs/one/checkpoint-").size(); }
  std::filesystem::path output() const { return folder_.path() / "output"; }
  std::filesystem::path elsewhere() const { return folder_.path() / "elsewhere"; }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<RemoteRun> run_;
};

TEST_F(Remote, HoldsWhatWasUploaded) {
  run_->probe();
  const RemoteCheckpoint ten = upload(10);
  EXPECT_TRUE(ten.name.starts_with("checkpoint-000000010-")) << ten.name;
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{10}));
  const auto folder = download_checkpoint(*run_, ten, elsewhere());
  EXPECT_EQ(folder, elsewhere() / "checkpoint-000000010");
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(test::read_file(entry.path()),
              test::read_file(output() / "checkpoint-000000010" / entry.path().filename()));
}

TEST_F(Remote, SendsNothingTwice) {
  (void)upload(10);
  server_.set_faults();
  (void)upload(10);
  EXPECT_EQ(server_.counts()["sent"], 0);
}

TEST_F(Remote, AManifestComesLast) {
  server_.set_faults({{"only", "PUT .*stage-1|PUT .*manifest"}, {"chances", {{"403", 1}}}});
  EXPECT_THROW((void)upload(10), StoreError);
  EXPECT_TRUE(steps().empty());
  EXPECT_EQ(objects(), 1U);
}

TEST_F(Remote, KeepsTheNewestAndTheBest) {
  RemoteCheckpoint last;
  for (const std::int64_t step : {10, 20, 30, 40}) last = upload(step);
  (void)run_->store().begin_upload("runs/one/checkpoint-000000015-00000000/stage-0.safetensors");
  run_->store().put("runs/one/checkpoint-000000016-00000000/stage-0.safetensors", {});
  run_->remove_old({.keep = 2, .uploaded = last, .best = 10});
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{10, 30, 40}));
  EXPECT_EQ(objects(), 9U);
  EXPECT_TRUE(run_->store().open_uploads("").empty());
}

TEST_F(Remote, StaleListingsLoseNothing) {
  (void)upload(10);
  (void)run_->list();  // the proxy keeps this listing
  const RemoteCheckpoint last = upload(20);
  server_.set_faults({{"chances", {{"stale", 1}}}});
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{10, 20}));  // 20 by the object LATEST
  run_->remove_old({.keep = 1, .uploaded = last});
  server_.set_faults();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{20}));
  server_.set_faults({{"chances", {{"stale", 1}}}});
  fetch_newest(*run_, elsewhere(), [](const std::string&) {});
  EXPECT_TRUE(std::filesystem::exists(elsewhere() / "checkpoint-000000020"));
}

}  // namespace
}  // namespace penstock::runtime
