#include "runtime/store/store_url.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(StoreUrl, HasBucketAndKey) {
  const StoreUrl url = parse_store_url("s3://my-bucket/runs/one/");
  EXPECT_EQ(url.bucket, "my-bucket");
  EXPECT_EQ(url.key, "runs/one");
  EXPECT_EQ(url.text(), "s3://my-bucket/runs/one");
  EXPECT_EQ(parse_store_url("gs://bucket").text(), "gs://bucket");
  EXPECT_EQ(parse_store_url("gs://bucket").kind, StoreKind::gs);
}

TEST(StoreUrl, RefusesWhatNamesNoBucket) {
  for (const char* text : {"s3://", "s3:///key", "s3://a@b.c/key", "s3://b%2f/key", "outputs/run",
                           "s3://bucket:80/key", "https://host/key", "s3"})
    EXPECT_NE(test::message_of<ConfigError>([&] { (void)parse_store_url(text); }), "") << text;
  EXPECT_FALSE(is_store_url("s3"));
  EXPECT_FALSE(is_store_url("outputs/s3://x"));
}

TEST(StoreUrl, EscapesAllButUnreservedBytes) {
  EXPECT_EQ(escaped("a b+c=d/é~*"), "a%20b%2Bc%3Dd%2F%C3%A9~%2A");
  EXPECT_EQ(escaped("a/b c", true), "a/b%20c");
}

}  // namespace
}  // namespace penstock::runtime
