#include "runtime/trainer/mirror.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/checkpoint/retention.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class Mirrored : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(StoreUrl{StoreKind::s3, "bucket", "run"}, server_.store());
    server_.set_environment();
  }
  Mirror::Options options(double patience = 20) const {
    Mirror::Options options{.url = {StoreKind::s3, "bucket", "run"},
                            .output = folder_.path(),
                            .keep = 1,
                            .patience = std::chrono::duration<double>(patience)};
    options.pauses.first = options.pauses.longest = std::chrono::milliseconds(20);
    options.http.retries = {.first = std::chrono::milliseconds(5), .seconds = 0.2};
    return options;
  }
  std::filesystem::path save(std::int64_t step) const {
    return test::save_example(folder_.path(), step, 2);
  }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<RemoteRun> run_;
};

TEST_F(Mirrored, UploadsTheLastOfferedThroughFaults) {
  test::write_file(folder_.path() / "metrics.jsonl", "line\n");
  server_.set_faults({{"seed", 4},
                      {"most", 15},
                      {"chances", {{"lost", 0.2}, {"half", 0.2}, {"403", 0.3}, {"500", 0.2}}}});
  Mirror mirror(options());
  for (const std::int64_t step : {10, 20, 30}) mirror.offer(save(step));
  EXPECT_EQ(mirror.finish(), "");
  server_.set_faults();
  ASSERT_EQ(run_->list().size(), 1U);
  EXPECT_EQ(run_->list().back().step, 30);
  EXPECT_EQ(run_->store().get("run/metrics.jsonl"), "line\n");
}

TEST_F(Mirrored, UploadsTheBestBesideTheNewest) {
  const auto best = save(10), newest = save(20);
  mark_best(folder_.path(), {10, "wer", 0.5});
  Mirror mirror(options());
  mirror.offer(newest);
  EXPECT_EQ(mirror.finish(), "");
  ASSERT_EQ(run_->list().size(), 2U);
  EXPECT_EQ(run_->list().front().step, 10);
  EXPECT_EQ(run_->store().get("run/BEST"), test::read_file(folder_.path() / "BEST"));
}

TEST_F(Mirrored, UploadsTheEventsOfEachStart) {
  const std::string ended = "events.out.tfevents.1.host.1.0",
                    last = "events.out.tfevents.2.host.1.0", others = "events.out.tfevents.odd";
  test::write_file(folder_.path() / others, "of somebody else");
  std::filesystem::create_directory(folder_.path() / "events.out.tfevents.9");
  test::write_file(folder_.path() / ended, "old");
  test::write_file(folder_.path() / last, "new");
  Mirror mirror(options());
  mirror.offer(save(10));
  EXPECT_EQ(mirror.finish(), "");
  EXPECT_EQ(run_->store().get("run/" + ended), "old");
  EXPECT_EQ(run_->store().get("run/" + last), "new");
  test::write_file(folder_.path() / ended, "OLD");
  test::write_file(folder_.path() / last, "new, newer");
  mirror.offer(save(20));
  EXPECT_EQ(mirror.finish(), "");
  EXPECT_EQ(run_->store().get("run/" + ended), "old");  // of that size, it is not sent again
  EXPECT_EQ(run_->store().get("run/" + last), "new, newer");
}

TEST_F(Mirrored, SaysWhatIsMissingAfterItsPatience) {
  server_.set_faults({{"chances", {{"403", 1}}}});
  Mirror mirror(options(0.5));
  mirror.offer(save(10));
  EXPECT_TRUE(mirror.uses(10));
  EXPECT_FALSE(mirror.uses(20));
  const std::string missing = mirror.finish();
  EXPECT_NE(missing.find("checkpoint-000000010 is not in s3://bucket/run yet: "), std::string::npos)
      << missing;
  EXPECT_NE(missing.find("403"), std::string::npos) << missing;
}

TEST_F(Mirrored, GivesUpACheckpointThatIsGone) {
  server_.set_faults({{"chances", {{"403", 1}}}});
  Mirror mirror(options());
  const auto folder = save(10);
  mirror.offer(folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::filesystem::remove_all(folder);
  EXPECT_NE(mirror.finish().find("the last checkpoint is not in s3://bucket/run"),
            std::string::npos);
}

TEST_F(Mirrored, EndsAnUploadAtOnce) {
  server_.set_faults({{"chances", {{"503", 1}}}});
  Mirror::Options slow = options();
  slow.http.retries = {.first = std::chrono::seconds(30), .seconds = 1000};
  const auto start = std::chrono::steady_clock::now();
  {
    Mirror mirror(slow);
    mirror.offer(save(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace penstock::runtime
