#include "runtime/text/greedy.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;

// Logits of 3 channels whose best label in each frame is given.
Labels decode(const Labels& path) {
  std::vector<float> logits_FC;
  for (const std::int32_t label : path)
    for (std::int32_t channel = 0; channel < 3; ++channel)
      logits_FC.push_back(channel == label ? -0.5f : -2.0f - static_cast<float>(channel));
  return greedy_labels(logits_FC, 3, 3);
}

TEST(Greedy, CollapsesRepeatsThenDropsBlanks) {
  EXPECT_EQ(decode({0, 1, 1, 0, 1, 2, 2, 0}), (Labels{1, 1, 2}));
  EXPECT_EQ(decode({2, 2, 2}), Labels{2});
  EXPECT_EQ(decode({0, 0}), Labels{});
  EXPECT_EQ(decode({}), Labels{});
}

TEST(Greedy, TakesTheLowerOfEqualLabels) {
  EXPECT_EQ(greedy_labels(std::vector<float>{-1, 3, 3}, 3, 3), Labels{1});
}

TEST(Greedy, LooksAtNoChannelBeyondTheLabels) {
  const std::vector<float> logits_FC = {0, 1, 2, 3, 1, 2, 0, 9, 0, 1, 5, 7};
  EXPECT_EQ(greedy_labels(logits_FC, 4, 3), (Labels{2, 1, 2}));
  EXPECT_THROW((void)greedy_labels(logits_FC, 4, 5), ShapeError);
  EXPECT_THROW((void)greedy_labels(logits_FC, 4, 0), ShapeError);
}

TEST(Greedy, RejectsHalfAFrame) {
  EXPECT_THROW((void)greedy_labels(std::vector<float>(7), 3, 3), ShapeError);
  EXPECT_THROW((void)greedy_labels({}, 0, 0), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
