#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/checkpoint/remote/remote_run.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/store/store_server.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

constexpr const char* kRun = "s3://bucket/run";

/// A run of four steps, with a checkpoint after each, in a store and in the folder "output".
class CheckpointUrls : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(runtime::StoreUrl{runtime::StoreKind::s3, "bucket", "run"}, server_.store());
    server_.set_environment();
    ::setenv("XDG_CACHE_HOME", folder_.in("home").c_str(), 1);
    const Outcome trained = folder_.train(
        "output", {"trainer.steps=4", "trainer.checkpoint_every=1", "trainer.validate_every=2",
                   "trainer.keep=9", std::string("trainer.mirror=") + kRun});
    ASSERT_EQ(trained.code, 0) << trained.err;
    // A mirror leaves out checkpoints that come faster than it uploads.
    for (const char* step : {"1", "2", "3", "4"})
      newest_ = run_->upload(fs::path(output()) / ("checkpoint-00000000" + std::string(step)),
                             [](std::uint64_t) {});
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("AWS_NO_SIGN_REQUEST");
    ::setenv("HOME", home_.c_str(), 1);
  }

  std::string output() const { return folder_.in("output"); }
  std::string newest() const { return kRun + ("/" + newest_.name); }
  std::string validation() const { return folder_.in("validation.jsonl"); }
  Outcome run(const std::vector<std::string>& words, test::Ranks ranks = {}) const {
    return folder_.run(words, ranks);
  }
  /// Runs a command on a local checkpoint and on a URL, and compares what it prints.
  void expect_same(std::vector<std::string> words, const std::string& local, const std::string& url,
                   test::Ranks ranks = {}) {
    words.insert(words.begin() + 1, local);
    const Outcome here = run(words, ranks);
    ASSERT_EQ(here.code, 0) << here.err;
    words[1] = url;
    const Outcome there = run(words, ranks);
    ASSERT_EQ(there.code, 0) << there.err;
    EXPECT_EQ(there.out, here.out);
  }
  /// Expects that a command fails within seconds.
  void refused(const std::vector<std::string>& words, int code, const std::string& reason) const {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run(words);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << reason;
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
  }
  /// The same of an evaluation, which leaves nothing in the empty cache.
  void evaluation_refused(const std::string& url, int code, const std::string& reason) const {
    refused({"evaluate", url, validation()}, code, reason);
    const fs::path cached = folder_.in("home/penstock/checkpoints");
    EXPECT_TRUE(!fs::exists(cached) || fs::is_empty(cached)) << reason;
  }

  const std::string home_ = runtime::from_environment("HOME");
  test::StoreServer server_;
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::optional<runtime::RemoteRun> run_;
  runtime::RemoteCheckpoint newest_;
};

TEST_F(CheckpointUrls, AreTranscribedAsTheirFolders) {
  const std::vector<std::string> transcribe = {"transcribe", "--manifest", validation()};
  expect_same(transcribe, output(), kRun);
  expect_same(transcribe, output() + "/BEST", std::string(kRun) + "/BEST");
  expect_same(transcribe, output(), newest(), {.count = 2});
}

TEST_F(CheckpointUrls, AreEvaluatedShownAndVerified) {
  const auto rates = [&](const std::string& checkpoint) {
    const Outcome outcome = run({"evaluate", checkpoint, validation(), "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto json = nlohmann::json::parse(outcome.out);
    json.erase("seconds");
    return json;
  };
  EXPECT_EQ(rates(kRun), rates(output()));
  expect_same({"info"}, output(), kRun);
  const Outcome verified = run({"verify", kRun, "--json"});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(nlohmann::json::parse(verified.out)["checkpoint"], newest());
  const Outcome recipe = run({"info", kRun, "--recipe"});
  EXPECT_NE(recipe.out.find("init = \"s3://bucket/run\""), std::string::npos) << recipe.out;
}

TEST_F(CheckpointUrls, AreExportedAndAveraged) {
  const auto weights = [&](const std::string& from, const std::string& to) {
    const Outcome outcome = run({"export", from, "--weights", "-o", folder_.in(to)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder_.record(to).tensors;
  };
  EXPECT_EQ(weights(kRun, "there"), weights(output(), "here"));
  for (const char* which : {"--last", "--best"}) {
    const std::string mean = folder_.in(std::string("mean") + which);
    const Outcome averaged = run({"average", kRun, which, "2", "-o", mean});
    ASSERT_EQ(averaged.code, 0) << averaged.err;
    EXPECT_NE(averaged.out.find("step 4 of " + newest()), std::string::npos) << averaged.out;
    const Outcome here = run({"average", output(), which, "2", "-o", mean + "-here"});
    ASSERT_EQ(here.code, 0) << here.err;
    EXPECT_EQ(test::read_file(mean + "/stage-0.safetensors"),
              test::read_file(mean + "-here/stage-0.safetensors"));
  }
}

TEST_F(CheckpointUrls, StartTrainings) {
  const auto train = [&](const std::string& name, const std::string& init) {
    const Outcome outcome =
        folder_.train(name,
                      {"trainer.steps=2", "trainer.init=" + init,
                       "data.cache=" + folder_.in("cache"), "pipeline.stages=2"},
                      {.count = 2});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder_.record(name);
  };
  EXPECT_EQ(train("there", kRun), train("here", output()));
  EXPECT_TRUE(fs::exists(folder_.in("cache/checkpoints")));
}

TEST_F(CheckpointUrls, AreNotWrittenTo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"export", output(), "--weights", "-o", "s3://bucket/new"},
        {"average", output(), "--last", "2", "-o", "s3://bucket/new"},
        {"import", output(), "-o", "s3://bucket/new"}})
    refused(words, 2, "name one, and copy it afterwards, as by\n  aws s3 cp --recursive FOLDER");
  refused({"import", "s3://bucket/model", "-o", folder_.in("new")}, 2,
          "copy it first, as by\n  aws s3 cp --recursive s3://bucket/model FOLDER");
}

TEST_F(CheckpointUrls, WrongOnesAreToldWithTheNearest) {
  evaluation_refused("s3://bucket/run/checkpoint-000000009", 4, "The nearest is\n  " + newest());
  evaluation_refused("s3://bucket/rum", 4, "A similar name is\n  s3://bucket/run");
  evaluation_refused("s3://nowhere/run", 4, "There is no bucket 'nowhere' there");
  evaluation_refused("https://server.example/run?signature=x", 2, "a query belongs to one file");
  evaluation_refused("http://server.example/run", 2, "use https://");
  refused({"average", "s3://bucket/none", "--last", "2", "-o", folder_.in("mean")}, 4,
          "holds no checkpoints");
  EXPECT_FALSE(fs::exists(folder_.in("mean")));
}

TEST_F(CheckpointUrls, WithoutAManifestAreNoCheckpoints) {
  run_->store().remove(run_->key(newest_, "manifest.json"));
  evaluation_refused(newest(), 4, newest() + ": no checkpoint is there");
  const Outcome verified = run({"verify", kRun});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_NE(verified.out.find("step 3, "), std::string::npos) << verified.out;
}

TEST_F(CheckpointUrls, RefusalsAreToldInSeconds) {
  server_.set_faults({{"chances", {{"503", 1}}}});
  evaluation_refused(kRun, 4, "503 SlowDown");
  server_.set_faults();
  ::setenv("AWS_SECRET_ACCESS_KEY", "another-secret", 1);
  evaluation_refused(kRun, 4, "403 SignatureDoesNotMatch");
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  evaluation_refused(kRun, 4, "can't be reached");
}

TEST_F(CheckpointUrls, AreDownloadedOnceByTwoProcesses) {
  server_.set_faults({{"only", "GET .*stage-0"}, {"chances", {{"delay", 1}}}});
  const auto verify = [&] {
    const Outcome outcome = run({"verify", kRun});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  std::jthread other(verify);
  verify();
  other.join();
  EXPECT_EQ(server_.faults(), 1);  // each request for this file counts as one
}

TEST_F(CheckpointUrls, NeedTheCacheOfATraining) {
  const Outcome outcome = folder_.train(
      "new", {"trainer.steps=1", "data.cache_gib=0", std::string("trainer.init=") + kRun});
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("set data.cache_gib above 0"), std::string::npos) << outcome.err;
}

TEST_F(CheckpointUrls, PublicBucketsNeedNoKeys) {
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ::setenv("HOME", folder_.in("home").c_str(), 1);
  refused({"info", kRun}, 4, "The request had no keys");
  server_.make_public("(GET|HEAD) /bucket");
  expect_same({"info"}, output(), kRun);
  server_.set_environment();
  ::setenv("AWS_SECRET_ACCESS_KEY", "of-another-account", 1);
  refused({"info", kRun}, 4, "403 SignatureDoesNotMatch");
  ::setenv("AWS_NO_SIGN_REQUEST", "YES", 1);
  expect_same({"info"}, output(), kRun);
}

}  // namespace
}  // namespace penstock::tools
