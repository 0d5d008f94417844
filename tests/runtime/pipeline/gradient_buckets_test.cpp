#include "runtime/pipeline/gradient_buckets.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

/// Share of a bucket's time that its messages' latency takes, one after the other.
double latency_share(int replicas, const partition::LinkRates& link) {
  int messages = 0;
  for (int reached = 1; reached < replicas; reached *= 2) messages += 2;
  const double bytes = static_cast<double>(suited_bucket_bytes(replicas, link));
  return messages * link.latency * link.bandwidth / (2 * bytes * (replicas - 1) / replicas);
}

TEST(BucketBytes, KeepLatencyBelowATenth) {
  for (const int replicas : {2, 3, 4, 7, 8, 16, 33, 64})
    for (const partition::LinkRates link :
         {kUnknownLink, partition::LinkRates{5e-6, 3e9}, partition::LinkRates{50e-6, 1.25e9}}) {
      EXPECT_LE(latency_share(replicas, link), 0.1);
      const double mib = static_cast<double>(suited_bucket_bytes(replicas, link)) / (1 << 20);
      EXPECT_TRUE(mib == 1 || latency_share(replicas, link) > 0.1 * (mib - 1) / mib);  // as few
    }
}

TEST(BucketBytes, AreWithinOneAndSixtyFourMiB) {
  EXPECT_EQ(suited_bucket_bytes(64, {100e-6, 200e9}), 64 << 20);
  EXPECT_EQ(suited_bucket_bytes(2, {1e-9, 1e9}), 1 << 20);
  EXPECT_EQ(suited_bucket_bytes(1, kUnknownLink), 1 << 20);
}

TEST(BucketBytes, AreTheRecipesWhereItSaysSo) {
  configs::PipelineConfig pipeline;
  pipeline.replicas = 8;
  EXPECT_EQ(bucket_bytes(pipeline), 7 << 20);  // 3 · 20 µs · 10 GB/s · 10 · 8/7
  EXPECT_EQ(bucket_bytes(pipeline, {20e-6, 20e9}), 14 << 20);
  pipeline.bucket_bytes = 5000;
  EXPECT_EQ(bucket_bytes(pipeline), 5000);
}

}  // namespace
}  // namespace penstock::runtime
