#include "runtime/checkpoint/remote/remote_checkpoints.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/error.h"
#include "runtime/checkpoint/remote/remote_run.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/store/store_error.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// A store with a run, as trainer.mirror writes it, of steps 10 and 20.
class RemoteFinder : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    run_.emplace(StoreUrl{StoreKind::s3, "bucket", "runs/one"}, server_.store());
    server_.set_environment();
    for (const std::int64_t step : {10, 20})
      newest_ = run_->upload(test::save_example(output(), step, 2), [](std::uint64_t) {});
  }
  void TearDown() override { ::unsetenv("AWS_NO_SIGN_REQUEST"); }

  fs::path output() const { return folder_.path() / "output"; }
  void put(const std::string& key, const std::string& text) {
    run_->store().put(key, test::bytes(text));
  }
  /// Copies the files of a local folder to a key, as `aws s3 cp --recursive` does.
  void copy(const fs::path& folder, const std::string& key) {
    for (const auto& entry : fs::directory_iterator(folder))
      put(key + "/" + entry.path().filename().string(), test::read_file(entry.path()));
  }
  std::int64_t step_at(const std::string& url) { return find(url).manifest.state.step; }
  FoundCheckpoint find(const std::string& url) {
    HttpOptions options;
    options.retries.seconds = 1;
    return RemoteCheckpoints(options).find(folder_url(url));
  }
  std::string complaint(const std::string& url) {
    return test::message_of<CheckpointError>([&] { (void)find(url); });
  }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<RemoteRun> run_;
  RemoteCheckpoint newest_;
};

TEST_F(RemoteFinder, TakesCheckpointsAndRuns) {
  EXPECT_EQ(step_at("s3://bucket/runs/one"), 20);
  EXPECT_EQ(step_at("s3://bucket/runs/one/"), 20);
  EXPECT_EQ(find("s3://bucket/runs/one").url, "s3://bucket/runs/one/" + newest_.name);
  EXPECT_EQ(step_at("s3://bucket/runs/one/" + run_->list().front().name), 10);
}

TEST_F(RemoteFinder, TakesTheBest) {
  EXPECT_NE(complaint("s3://bucket/runs/one/BEST").find("The newest beside it is\n  s3"),
            std::string::npos);
  mark_best(output(), {10, "wer", 0.25});
  put("runs/one/BEST", test::read_file(output() / "BEST"));
  EXPECT_EQ(step_at("s3://bucket/runs/one/BEST"), 10);
  mark_best(output(), {17, "wer", 0.25});
  put("runs/one/BEST", test::read_file(output() / "BEST"));
  const std::string gone = complaint("s3://bucket/runs/one/BEST");
  EXPECT_NE(gone.find("step 17, which is not there. The nearest is\n  s3://bucket/runs/one/" +
                      newest_.name),
            std::string::npos)
      << gone;
  put("runs/one/BEST", "nonsense");
  EXPECT_NE(complaint("s3://bucket/runs/one/BEST").find("runs/one/BEST: damaged"),
            std::string::npos);
}

TEST_F(RemoteFinder, TakesCopiesOfFolders) {
  copy(output() / "checkpoint-000000010", "copies/checkpoint-000000010");
  EXPECT_EQ(step_at("s3://bucket/copies"), 10);
  EXPECT_EQ(step_at("s3://bucket/copies/checkpoint-000000010"), 10);
  copy(output() / "checkpoint-000000020", "some/model of mine");
  EXPECT_EQ(step_at("s3://bucket/some/model of mine"), 20);
}

// A name of a folder that has lost its manifest, or is being uploaded, is no checkpoint.
TEST_F(RemoteFinder, PassesOverWhatIsNotCommitted) {
  run_->store().remove(run_->key(newest_, kManifestFile));
  EXPECT_EQ(step_at("s3://bucket/runs/one"), 10);
  EXPECT_EQ(std::ssize(RemoteCheckpoints({}).list("s3://bucket/runs/one")), 1);
}

TEST_F(RemoteFinder, NamesWhatIsNearest) {
  const std::string mistyped = complaint("s3://bucket/runs/one/checkpoint-000000019-00000000");
  EXPECT_NE(mistyped.find("The nearest is\n  s3://bucket/runs/one/" + newest_.name),
            std::string::npos)
      << mistyped;
  const std::string run = complaint("s3://bucket/runs/onne");
  EXPECT_NE(run.find("runs/onne: no checkpoint is there: neither manifest.json nor folders"),
            std::string::npos)
      << run;
  EXPECT_NE(run.find("A similar name is\n  s3://bucket/runs/one"), std::string::npos) << run;
  EXPECT_TRUE(complaint("s3://bucket/elsewhere/entirely").ends_with("nor folders checkpoint-…"));
  const std::string nowhere =
      test::message_of<StoreError>([&] { (void)find("s3://nowhere/runs/one"); });
  EXPECT_NE(nowhere.find("There is no bucket 'nowhere' there"), std::string::npos) << nowhere;
}

TEST_F(RemoteFinder, RefusesDamagedManifests) {
  put(run_->key(newest_, kManifestFile), "{\"nonsense\": 1}");
  const std::string message = complaint("s3://bucket/runs/one");
  EXPECT_NE(message.find(newest_.name + "/manifest.json: "), std::string::npos) << message;
}

// Objects may be public where lists are not. S3 answers 403 then for what is not there.
TEST_F(RemoteFinder, NeedsNoListOfAPublicBucket) {
  ::setenv("AWS_NO_SIGN_REQUEST", "YES", 1);
  server_.make_public("(GET|HEAD) /bucket/runs/one/(LATEST|checkpoint)");
  EXPECT_EQ(step_at("s3://bucket/runs/one"), 20);
  const std::string denied =
      test::message_of<StoreError>([&] { (void)find("s3://bucket/runs/other"); });
  EXPECT_NE(denied.find("The request had no keys"), std::string::npos) << denied;
}

TEST(FolderUrl, HasNeitherAQueryNorALastSlash) {
  EXPECT_EQ(folder_url("https://server/a/b/"), "https://server/a/b");
  EXPECT_EQ(folder_url("s3://bucket"), "s3://bucket");
  EXPECT_EQ(url_in("https://server/a", "one two"), "https://server/a/one%20two");
  EXPECT_EQ(url_in("s3://bucket/a", "one two"), "s3://bucket/a/one two");
  for (const char* bad : {"https://server/a?key=hush", "http://server/a", "s3://b/../c", "s3://x"})
    EXPECT_THROW((void)folder_url(bad), ConfigError) << bad;
  EXPECT_EQ(test::message_of<ConfigError>([] {
              (void)folder_url("https://server/a?key=hush");
            }).find("hush"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
