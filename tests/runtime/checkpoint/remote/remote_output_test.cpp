#include "runtime/checkpoint/remote/remote_output.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

configs::Config with(const std::string& output, const std::string& mirror) {
  configs::Config config;
  config.trainer.output = output;
  config.trainer.mirror = mirror;
  config.data.cache = "/cache";
  return config;
}

TEST(RemoteOutput, IsTheOutputOrTheMirror) {
  EXPECT_FALSE(remote_output(with("outputs/run", "")));
  EXPECT_EQ(remote_output(with("outputs/run", "s3://bucket/run"))->key, "run");
  EXPECT_EQ(remote_output(with("gs://bucket/a/b", ""))->key, "a/b");
  EXPECT_THROW((void)remote_output(with("s3://bucket/run", "s3://bucket/copy")), ConfigError);
  EXPECT_THROW((void)remote_output(with("outputs/run", "outputs/copy")), ConfigError);
}

TEST(RemoteOutput, HasItsOwnFolderInTheCache) {
  EXPECT_EQ(local_output(with("outputs/run", "s3://bucket/run")), "outputs/run");
  const auto one = local_output(with("s3://bucket/a/run", ""));
  const auto two = local_output(with("s3://bucket/b/run", ""));
  EXPECT_EQ(one.parent_path(), "/cache/runs");
  EXPECT_TRUE(one.filename().string().starts_with("run-"));
  EXPECT_NE(one, two);
  EXPECT_EQ(one, local_output(with("s3://bucket/a/run/", "")));
}

}  // namespace
}  // namespace penstock::runtime
