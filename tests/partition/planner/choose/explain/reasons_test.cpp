#include "partition/planner/choose/explain/reasons.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

Candidate simulated(double step, std::vector<double> busy) {
  Candidate candidate{.choice = {.stages = static_cast<int>(busy.size())}};
  candidate.estimate = ChoiceEstimate{.step_seconds = step, .audio_seconds = 60, .busy = busy};
  candidate.closed_form = step;
  candidate.audio_seconds = 60;
  return candidate;
}

TEST(Reasons, CompareSecondsOfAudio) {
  const Candidate best = simulated(10, {9, 6}), other = simulated(12, {6, 6});
  EXPECT_DOUBLE_EQ(seconds_per_audio_second(best), 1.0 / 6);
  EXPECT_EQ(why_slower(best, other), "20.0 % slower: stages idle 50 %");
  EXPECT_EQ(why_slower(best, best), "as fast: the first found is kept");
  EXPECT_EQ(why_slower(other, best), "16.7 % faster, but 1f1b is requested");
  Candidate longer = simulated(24, {12, 12});
  longer.estimate->audio_seconds = 120;
  EXPECT_EQ(why_slower(best, longer), why_slower(best, other));
  EXPECT_DOUBLE_EQ(longer.step_seconds(60), 12);
}

TEST(Reasons, NamesMemoryOnlyWhereMoreWouldBeFaster) {
  const Candidate best = simulated(10, {9, 6});
  EXPECT_EQ(bottleneck_of(best, {best}),
            "the computation of stage 0, which is busy 90 % of a step");
  Candidate tight{.choice = {.stages = 3}, .closed_form = 8, .audio_seconds = 60};
  tight.speed_with_memory = 7;
  tight.why = "memory: stage 1 lacks 2 GiB";
  EXPECT_EQ(bottleneck_of(best, {best, tight}), bottleneck_of(best, {best}))
      << "words decide nothing";
  tight.lacks = LackingMemory{.stage = 1, .bytes = 2.0 * (1 << 30)};
  EXPECT_EQ(bottleneck_of(best, {best, tight}),
            "memory: 3 stages × 1 replica, 1f1b, 1 × 0 s would be faster, but its stage 1 lacks 2 "
            "GiB");
  tight.speed_with_memory = 6.02;  // the closed form, which is of 7.5, does not tell
  EXPECT_EQ(bottleneck_of(best, {best, tight}), bottleneck_of(best, {best}));
  EXPECT_FALSE(would_be_faster(tight, best));
}

}  // namespace
}  // namespace penstock::partition
