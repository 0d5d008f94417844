#include "runtime/data/batch/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "base/error.h"
#include "runtime/data/batch/sample_hash.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// 157 recordings of 0.5 to 8 s in micro-batches of at most 20 s, five a step.
StepSequenceOptions options(int lanes) {
  StepSequenceOptions options;
  std::vector<AudioLength> lengths;
  for (std::uint64_t i = 0; i < 157; ++i)
    lengths.push_back(
        {8000 + static_cast<std::int64_t>(sample_hash(SampleKind::order, 3, {i}) % 120000), 16000});
  options.lengths = lengths;
  options.data.speeds = {0.9, 1, 1.1};
  options.data.micro_batch_seconds = 20;
  options.data.micro_batches = 5;
  options.seed = 11;
  options.lanes = lanes;
  return options;
}

std::int64_t first_step_of(const StepSequence& steps, std::int64_t epoch) {
  std::int64_t first = 0;
  for (std::int64_t e = 0; e < epoch; ++e) first += steps.steps_in_epoch(e);
  return first;
}

TEST(StepSequence, HoldsEachUtteranceOnceAnEpoch) {
  const StepSequence steps(options(2));
  std::int64_t step = 0;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    std::multiset<std::uint64_t> seen;
    for (std::int64_t i = 0; i < steps.steps_in_epoch(epoch); ++i, ++step) {
      const StepBatches batches = steps.at(step);
      EXPECT_EQ(batches.epoch, epoch);
      EXPECT_EQ(batches.step_in_epoch, i);
      const bool last = i + 1 == steps.steps_in_epoch(epoch);
      EXPECT_TRUE(last ? !batches.micro_batches.empty() : batches.micro_batches.size() == 5u);
      std::int64_t utterances = 0;
      for (const MicroBatch& batch : batches.micro_batches)
        for (const BatchUtterance& utterance : batch.utterances) {
          seen.insert(utterance.id);
          ++utterances;
        }
      EXPECT_EQ(batches.utterances, utterances);
    }
    EXPECT_EQ(seen.size(), 157u);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 157u);
  }
}

// The micro-batches of a step that is not whole keep the order.
TEST(StepSequence, PutsMicroBatchesInOrderBySize) {
  const std::vector<int> order = {3, 0, 4, 1, 2};
  StepSequenceOptions in_order = options(2);
  in_order.order = order;
  const StepSequence sampled(options(2)), ordered(in_order);
  std::set<std::size_t> sizes;
  for (std::int64_t step = 0; step < 2 * sampled.steps_in_epoch(0); ++step) {
    const StepBatches a = sampled.at(step), b = ordered.at(step);
    std::multiset<std::int64_t> frames_of_a, frames_of_b;
    for (std::size_t i = 0; i < a.micro_batches.size(); ++i) {
      frames_of_a.insert(a.micro_batches[i].frames());
      frames_of_b.insert(b.micro_batches[i].frames());
      const auto same = std::ranges::find(b.micro_batches, a.micro_batches[i]);
      ASSERT_NE(same, b.micro_batches.end());
      EXPECT_EQ(b.lanes.at(same - b.micro_batches.begin()), a.lanes[i]);
    }
    EXPECT_EQ(frames_of_a, frames_of_b);
    EXPECT_EQ(a.utterances, b.utterances);
    const std::vector<std::int64_t> longest(frames_of_b.rbegin(), frames_of_b.rend());
    std::vector<std::int64_t> wanted, found;
    for (const int size : order)
      if (size < std::ssize(longest)) wanted.push_back(longest[static_cast<std::size_t>(size)]);
    for (const MicroBatch& batch : b.micro_batches) found.push_back(batch.frames());
    EXPECT_EQ(found, wanted);
    sizes.insert(longest.size());
  }
  EXPECT_GT(sizes.size(), 1u) << "no step was short";
}

TEST(StepSequence, IsTheSameFromAnyStepOn) {
  const StepSequence steps(options(2));
  for (const std::int64_t step : {0, 7, 3, 40, 39}) {
    const StepSequence fresh(options(2));
    EXPECT_EQ(fresh.at(step).micro_batches, steps.at(step).micro_batches);
    EXPECT_EQ(fresh.at(step).lanes, steps.at(step).lanes);
    EXPECT_EQ(fresh.at(step).epoch, steps.at(step).epoch);
  }
}

/// A run asks for a step, and for those ahead whose features are made beforehand.
TEST(StepSequence, FormsEveryEpochOnce) {
  const StepSequence steps(options(2));
  for (std::int64_t step = 0; step < first_step_of(StepSequence(options(2)), 6); ++step)
    for (const std::int64_t ahead : {0, 2, 1}) {
      const std::int64_t epoch = steps.at(step + ahead).epoch;
      // It has formed the epochs so far and at most the one after them.
      EXPECT_LE(steps.epochs_formed(), epoch + 2) << step;
    }
}

TEST(StepSequence, FormsTheNextEpochBeforehand) {
  const StepSequence steps(options(2));
  const std::int64_t count = steps.steps_in_epoch(0);
  for (std::int64_t step = 0; step < count; ++step) (void)steps.at(step);
  for (int tries = 0; tries < 1000 && steps.epochs_formed() < 2; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(steps.epochs_formed(), 2);
  EXPECT_EQ(steps.at(count).micro_batches, StepSequence(options(2)).at(count).micro_batches);
  EXPECT_EQ(steps.epochs_formed(), 2);
}

TEST(StepSequence, GoesOnFromAnEpochThatIsKnown) {
  const StepSequence whole(options(2));
  const std::int64_t first = first_step_of(whole, 5);
  StepSequence known(options(2));
  known.know(5, first);
  for (const std::int64_t step : {first, first + 3}) {
    EXPECT_EQ(known.at(step).micro_batches, whole.at(step).micro_batches);
    EXPECT_EQ(known.at(step).epoch, 5);
    EXPECT_EQ(known.at(step).step_in_epoch, step - first);
  }
  EXPECT_EQ(known.epochs_formed(), 1);
  EXPECT_EQ(known.at(first + 90).micro_batches, whole.at(first + 90).micro_batches);
  EXPECT_EQ(known.at(3).micro_batches, whole.at(3).micro_batches);  // before it, too
  EXPECT_EQ(known.steps_in_epoch(2), whole.steps_in_epoch(2));
}

/// The run's data changed in the midst of an epoch: those before held other steps.
TEST(StepSequence, BeginsAnEpochWhereItIsTold) {
  const StepSequence whole(options(2));
  StepSequenceOptions changed = options(2);
  changed.start = {3, 2};
  StepSequenceOptions later = options(2);
  later.start = {3, 50};
  const StepSequence told(changed);
  const std::int64_t steps = whole.steps_in_epoch(3);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(told.longest(3), StepSequence(later).longest(3));  // of its first epoch
    EXPECT_NE(told.longest(3), whole.longest(3));
    EXPECT_EQ(told.steps_in_epoch(0), whole.steps_in_epoch(0));
    for (const std::int64_t step : {std::int64_t{0}, steps - 1, steps}) {
      const StepBatches batches = told.at(2 + step);
      EXPECT_EQ(batches.micro_batches, whole.at(first_step_of(whole, 3) + step).micro_batches);
      EXPECT_EQ(batches.epoch, step < steps ? 3 : 4);
      EXPECT_EQ(batches.step_in_epoch, step < steps ? step : 0);
    }
  }
  EXPECT_THROW((void)told.at(1), std::out_of_range);
}

/// 157 utterances of two manifests, of which the second are drawn about 4.3 times an epoch.
StepSequenceOptions mixed(int lanes) {
  StepSequenceOptions of = options(lanes);
  of.mixture = Mixture({{"a", 130, 552, 0.4}, {"b", 27, 115, 2.5}}, {2});
  return of;
}

/// A run with five micro-batches a step goes on within an epoch with two, after three steps.
TEST(StepSequence, GoesOnWithinAnEpochWithOtherSteps) {
  const StepSequence before(options(2));
  const std::int64_t step = before.steps_in_epoch(0) + 3;
  StepSequenceOptions changed = options(2);
  changed.data.micro_batches = 2;
  changed.start = {1, step, 15};
  const StepSequence after(changed);
  std::multiset<std::uint64_t> seen;
  const auto add = [&](const StepBatches& batches) {
    for (const MicroBatch& batch : batches.micro_batches)
      for (const BatchUtterance& utterance : batch.utterances) seen.insert(utterance.id);
  };
  for (std::int64_t s = step - 3; s < step; ++s) add(before.at(s));
  for (std::int64_t i = 0; i < after.steps_in_epoch(1); ++i) {
    const StepBatches batches = after.at(step + i);
    EXPECT_EQ(batches.epoch, 1);
    EXPECT_EQ(batches.step_in_epoch, i);
    EXPECT_LE(batches.micro_batches.size(), 2u);
    add(batches);
  }
  EXPECT_EQ(seen.size(), 157u);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 157u);
  const std::int64_t next = step + after.steps_in_epoch(1);
  EXPECT_EQ(after.at(next).epoch, 2);
  StepSequence resumed(changed);
  resumed.know(2, next);
  EXPECT_EQ(resumed.at(next + 1).step_in_epoch, 1);
  EXPECT_EQ(resumed.at(next + 1).utterances, after.at(next + 1).utterances);
  changed.start.micro_batch = 0;
  const auto frames = [](const std::vector<MicroBatch>& batches) {
    std::vector<std::int64_t> frames;
    for (const MicroBatch& batch : batches) frames.push_back(batch.frames());
    return frames;
  };
  EXPECT_EQ(frames(after.longest(4)), frames(StepSequence(changed).longest(4)));
}

TEST(StepSequence, RefusesToBeginAfterItsEpoch) {
  StepSequenceOptions beyond = options(2);
  beyond.start = {0, 7, 1000};
  const StepSequence steps(beyond);
  EXPECT_THROW((void)steps.at(7), DataError);
}

TEST(StepSequence, MixtureIsTheSameFromAnyStep) {
  const StepSequence steps(mixed(2));
  const std::int64_t first = first_step_of(steps, 3);
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{7}, first, first + 2}) {
    StepSequence fresh(mixed(2));
    if (step >= first) fresh.know(3, first);
    EXPECT_EQ(fresh.at(step).micro_batches, steps.at(step).micro_batches);
    EXPECT_EQ(fresh.at(step).lanes, steps.at(step).lanes);
    if (step >= first) {
      EXPECT_EQ(fresh.epochs_formed(), 1);
    }
  }
  EXPECT_EQ(StepSequence(mixed(4)).at(first).micro_batches, steps.at(first).micro_batches);
}

TEST(StepSequence, OfAMixtureFormsEveryEpochOnce) {
  const StepSequence steps(mixed(2));
  for (std::int64_t step = 0; step < first_step_of(StepSequence(mixed(2)), 6); ++step)
    for (const std::int64_t ahead : {0, 2, 1}) {
      const std::int64_t epoch = steps.at(step + ahead).epoch;
      EXPECT_LE(steps.epochs_formed(), epoch + 2) << step;
    }
}

TEST(StepSequence, TellsTheLongestOfAnEpoch) {
  StepSequenceOptions many_equal = options(2);
  many_equal.lengths = std::vector<AudioLength>(60, {16000 * 5, 16000});
  StepSequenceOptions in_order = options(2);
  in_order.order = {3, 0, 4, 1, 2};
  for (const StepSequenceOptions& of : {options(2), in_order, many_equal}) {
    const StepSequence steps(of);
    std::vector<MicroBatch> all;
    for (std::int64_t step = 0; step < steps.steps_in_epoch(0); ++step)
      std::ranges::copy(steps.at(step).micro_batches, std::back_inserter(all));
    std::ranges::stable_sort(all, std::greater{}, &MicroBatch::frames);
    for (const std::size_t count : {1, 8, 1000}) {
      const auto longest = steps.longest(count);
      ASSERT_EQ(longest.size(), std::min(count, all.size()));
      EXPECT_TRUE(std::ranges::equal(longest, std::span(all).first(longest.size())));
    }
  }
}

TEST(StepSequence, HasTheSameMicroBatchesForAnyLanes) {
  const StepSequence one(options(1)), four(options(4));
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(one.at(step).micro_batches, four.at(step).micro_batches);
    for (const int lane : one.at(step).lanes) EXPECT_EQ(lane, 0);
  }
}

TEST(StepSequence, DealsEqualCountsAndEvenCost) {
  for (const int lanes : {2, 3, 4, 5}) {
    const StepSequence steps(options(lanes));
    for (std::int64_t step = 0; step < 20; ++step) {
      const StepBatches batches = steps.at(step);
      std::vector<std::int64_t> count(static_cast<std::size_t>(lanes)), frames(count);
      std::int64_t costliest = 0;
      for (std::size_t i = 0; i < batches.lanes.size(); ++i) {
        const auto lane = static_cast<std::size_t>(batches.lanes.at(i));
        count.at(lane) += 1;
        frames.at(lane) += batches.micro_batches[i].frames();
        costliest = std::max(costliest, batches.micro_batches[i].frames());
      }
      EXPECT_LE(std::ranges::max(count) - std::ranges::min(count), 1);
      EXPECT_LE(std::ranges::max(frames) - std::ranges::min(frames), costliest);
    }
  }
}

TEST(StepSequence, GivesOddMicroBatchesToAllLanesEqually) {
  const StepSequence steps(options(2));
  int extra = 0;
  for (std::int64_t step = 0; step < first_step_of(steps, 10); ++step) {
    const std::vector<int> lanes = steps.at(step).lanes;
    if (lanes.size() % 2 == 1)
      extra += std::ranges::count(lanes, 0) > std::ranges::count(lanes, 1) ? 1 : -1;
  }
  // A walk of about 60 fair steps: four deviations.
  EXPECT_LE(std::abs(extra), 31);
}

TEST(StepSequence, RejectsWhatItCannotDo) {
  const auto error_message = [](auto&& change) {
    StepSequenceOptions bad = options(2);
    change(bad);
    return test::message_of<ConfigError>([&] { StepSequence steps(bad); });
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(error_message([](auto& o) { o.lanes = 6; }), "too few for 6 lanes (trainer.lanes)");
  expect(error_message([](auto& o) { o.data.speeds = {}; }), "data.speeds");
  expect(error_message([](auto& o) { o.data.speeds = {1, 0}; }), "data.speeds holds 0");
  expect(error_message([](auto& o) { o.data.micro_batch_seconds = 0; }),
         "data.micro_batch_seconds");
  expect(error_message([](auto& o) { o.data.micro_batch_utterances = -1; }),
         "micro_batch_utterances");
  expect(error_message([](auto& o) { o.lengths = {}; }), "no utterances");
  expect(error_message([](auto& o) { o.lengths = {{16000, 16000}, {16000 * 19, 16000}}; }), "21.1");
}

}  // namespace
}  // namespace penstock::runtime
