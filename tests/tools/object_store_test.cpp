#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/remote/fetch.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/store/store_server.h"

namespace penstock::tools {
namespace {

using test::Outcome;
using test::Ranks;

constexpr const char* kMirror = "trainer.mirror=s3://bucket/run";

/// Trainings that upload to a store on this machine.
class ObjectStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(runtime::StoreUrl{runtime::StoreKind::s3, "bucket", "run"}, server_.store());
    server_.set_environment();
  }
  void TearDown() override { ::unsetenv("AWS_SHARED_CREDENTIALS_FILE"); }

  /// Trains and checks that the secret is nowhere in what was printed.
  Outcome train(const std::string& output, std::vector<std::string> overrides, Ranks ranks = {}) {
    overrides.insert(overrides.begin(),
                     {"trainer.checkpoint_every=3", "trainer.validate_every=-1"});
    Outcome outcome = folder_.train(output, std::move(overrides), ranks);
    EXPECT_FALSE(has_secret(outcome.out + outcome.err)) << outcome.err;
    return outcome;
  }
  bool has_secret(const std::string& text) const {
    return text.find(server_.settings().credentials.secret_key) != std::string::npos;
  }
  std::vector<std::int64_t> steps() {
    std::vector<std::int64_t> steps;
    for (const runtime::RemoteCheckpoint& each : run_->list()) steps.push_back(each.step);
    return steps;
  }
  std::string stored(const std::string& output) {
    return (std::filesystem::path(folder_.in(output)) / "checkpoint-000000003").string();
  }

  test::StoreServer server_;
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::optional<runtime::RemoteRun> run_;
};

TEST_F(ObjectStore, ARunGoesOnOnAnotherMachine) {
  const Outcome whole = train("whole", {"trainer.steps=6"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Outcome first = train(
      "first", {"trainer.steps=3", "trainer.keep=1", "pipeline.stages=2", kMirror}, {.count = 2});
  ASSERT_EQ(first.code, 0) << first.err;
  const Outcome next =
      train("elsewhere", {"trainer.steps=6", "trainer.keep=1", "trainer.resume=true", kMirror});
  ASSERT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(folder_.record("elsewhere"), folder_.record("whole"));
  EXPECT_FALSE(std::filesystem::exists(stored("elsewhere")));  // it may have been in use meanwhile
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{6}));
}

TEST_F(ObjectStore, TheOutputMayBeTheStore) {
  const std::string cache = "data.cache=" + folder_.in("cache");
  const auto run = [&](const std::string& steps) {
    return train("unused", {"trainer.output=s3://bucket/run", "trainer.resume=true", steps, cache});
  };
  ASSERT_EQ(run("trainer.steps=3").code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.in("unused")));
  std::filesystem::remove_all(folder_.in("cache"));
  const Outcome next = run("trainer.steps=4");
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_NE(next.err.find("the newest checkpoint is s3://bucket/run/checkpoint-000000003-"),
            std::string::npos)
      << next.err;
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{3, 4}));
}

TEST_F(ObjectStore, OnlyALostOutputFailsTheRun) {
  server_.set_faults({{"only", "PUT .*stage"}, {"chances", {{"403", 1}}}});
  const Outcome mirrored =
      train("output", {"trainer.steps=3", "trainer.mirror_seconds=0.5", kMirror});
  EXPECT_EQ(mirrored.code, 0) << mirrored.err;
  EXPECT_NE(mirrored.err.find("checkpoint-000000003 is not in s3://bucket/run yet"),
            std::string::npos)
      << mirrored.err;
  EXPECT_TRUE(std::filesystem::exists(stored("output")));
  const Outcome lost =
      train("output", {"trainer.steps=3", "trainer.mirror_seconds=0.5",
                       "trainer.output=s3://bucket/run", "data.cache=" + folder_.in("cache")});
  EXPECT_EQ(lost.code, 4) << lost.err;
  EXPECT_NE(lost.err.find("with trainer.resume=true uploads it"), std::string::npos) << lost.err;
  server_.set_faults();
  EXPECT_EQ(train("output", {"trainer.steps=3", "trainer.resume=true", kMirror}).code, 0);
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{3}));
}

TEST_F(ObjectStore, FaultsOfTheSetupAreToldInSeconds) {
  ASSERT_EQ(train("output", {"trainer.steps=3"}).code, 0);
  const auto refused = [&](const std::string& mirror, const std::string& reason) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome =
        train("output", {"trainer.steps=6", "trainer.resume=true", "trainer.mirror=" + mirror});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << reason;
  };
  refused("s3://nowhere/run", "There is no bucket 'nowhere' there: create it");
  ::setenv("AWS_SECRET_ACCESS_KEY", "another-secret", 1);
  refused("s3://bucket/run", "403 SignatureDoesNotMatch");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  const std::string keys = folder_.in("credentials");
  test::write_file(keys, "[default]\naws_access_key_id = A\naws_secret_access_key = B\n");
  ::chmod(keys.c_str(), 0644);
  ::setenv("AWS_SHARED_CREDENTIALS_FILE", keys.c_str(), 1);
  refused("s3://bucket/run", "chmod 600 " + keys);
  server_.set_environment();
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  refused("s3://bucket/run", "can't be reached");
  EXPECT_TRUE(std::filesystem::exists(stored("output")));
}

TEST_F(ObjectStore, NoFileHoldsTheSecret) {
  ASSERT_EQ(train("output", {"trainer.steps=3", kMirror}).code, 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.in("")))
    if (entry.is_regular_file()) {
      EXPECT_FALSE(has_secret(test::read_file(entry.path()))) << entry.path();
    }
  for (const runtime::StoredObject& object : run_->store().list(""))
    EXPECT_FALSE(has_secret(run_->store().get(object.key).value())) << object.key;
}

}  // namespace
}  // namespace penstock::tools
