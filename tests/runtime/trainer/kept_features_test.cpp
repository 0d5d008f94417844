#include "runtime/trainer/kept_features.h"

#include <gtest/gtest.h>

#include <array>

namespace penstock::runtime {
namespace {

/// Micro-batch m has m + 1 numbers, 10 · m + i, and a weight; can be read once.
struct Once {
  int next = 0;
  ReadFeatures read = [this](int micro_batch, std::span<float> x_FC, std::span<float> weights) {
    EXPECT_EQ(micro_batch, next++);
    for (std::size_t i = 0; i < x_FC.size(); ++i) x_FC[i] = 10.f * micro_batch + i;
    weights[0] = 0.5f * micro_batch;
  };
};

void expect_read(const ReadFeatures& reader, int micro_batch) {
  std::vector<float> x(micro_batch + 1, -1), weights(1, -1);
  reader(micro_batch, x, weights);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], 10.f * micro_batch + i);
  EXPECT_EQ(weights[0], 0.5f * micro_batch);
}

TEST(KeptFeatures, AreReadAgainBeforeNewOnes) {
  Once source;
  KeptFeatures features(source.read, true);
  for (int m : {0, 1, 2}) expect_read(features.reader(), m);
  features.again();
  for (int m : {0, 1, 2, 3}) expect_read(features.reader(), m);
  EXPECT_EQ(source.next, 4);
}

TEST(KeptFeatures, PassThroughOnceLetGo) {
  Once source;
  KeptFeatures features(source.read, true);
  expect_read(features.reader(), 0);
  features.let_go();
  for (int m : {1, 2}) expect_read(features.reader(), m);
  EXPECT_EQ(source.next, 3);
}

TEST(KeptFeatures, OfARankThatReadsNoneAreNone) { EXPECT_FALSE(KeptFeatures({}, true).reader()); }

}  // namespace
}  // namespace penstock::runtime
