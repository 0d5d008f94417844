#include "runtime/data/batch/epoch_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace penstock::runtime {
namespace {

std::vector<std::uint64_t> all_of(std::uint64_t count, std::uint64_t key) {
  const Permutation order(count, key);
  std::vector<std::uint64_t> all;
  for (std::uint64_t place = 0; place < count; ++place) all.push_back(order(place));
  return all;
}

TEST(Permutation, HoldsEachNumberOnce) {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 257, 1021, 4097})
    for (const std::uint64_t key : {0, 7}) {
      const auto all = all_of(count, key);
      const std::set<std::uint64_t> numbers(all.begin(), all.end());
      EXPECT_EQ(numbers.size(), count);
      EXPECT_EQ(*numbers.rbegin(), count - 1);
    }
}

TEST(Permutation, ReachesBeyond32Bits) {
  const std::uint64_t count = (std::uint64_t{1} << 33) + 5;
  const Permutation order(count, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t place = count - 1000; place < count; ++place) {
    EXPECT_LT(order(place), count);
    seen.insert(order(place));
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Permutation, FollowsFromItsKey) {
  EXPECT_EQ(all_of(97, 5), all_of(97, 5));
  EXPECT_NE(all_of(97, 5), all_of(97, 6));
}

/// Every number is as likely as another at every place: of 2,000 keys, 250 each.
TEST(Permutation, PutsEveryNumberEverywhere) {
  std::vector<std::vector<int>> times(8, std::vector<int>(8));
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const auto all = all_of(8, key);
    for (std::size_t place = 0; place < 8; ++place) ++times[place][all[place]];
  }
  // Binomial with deviation sqrt(2000 × 1/8 × 7/8) = 14.8: five of them.
  for (const auto& of_place : times)
    for (const int count : of_place) EXPECT_NEAR(count, 250, 74);
}

constexpr std::uint64_t kUtterances = 300 + 70 + 11;

/// 300 utterances that are drawn 0.25 times an epoch, 70 of 1.9 times and 11 of 5.5 times, about.
Mixture mixture() {
  return Mixture({{"a", 300, 900, 0.2}, {"b", 70, 350, 1.5}, {"c", 11, 77, 4}}, {1.05});
}

std::map<std::uint64_t, std::uint64_t> times_drawn(std::int64_t from, std::int64_t to) {
  std::map<std::uint64_t, std::uint64_t> times;
  for (std::int64_t epoch = from; epoch < to; ++epoch) {
    const EpochDraws draws(mixture(), kUtterances, {5, epoch});
    for (std::uint64_t number = 0; number < draws.size(); ++number) ++times[draws.at(number).id];
  }
  return times;
}

/// Each utterance of a part as often as another, or once more, and no other count.
void expect_even(std::int64_t from, std::int64_t to) {
  const auto times = times_drawn(from, to);
  const Mixture all = mixture();
  for (const Mixture::Part& part : all.parts()) {
    const std::uint64_t drawn = part.before(to) - part.before(from);
    std::uint64_t sum = 0;
    for (std::uint64_t id = part.first; id < part.first + part.is.utterances; ++id) {
      const auto found = times.find(id);
      const std::uint64_t of_id = found == times.end() ? 0 : found->second;
      EXPECT_GE(of_id, drawn / part.is.utterances);
      EXPECT_LE(of_id, (drawn + part.is.utterances - 1) / part.is.utterances);
      sum += of_id;
    }
    EXPECT_EQ(sum, drawn);
  }
}

TEST(EpochDraws, AreEvenInEveryEpoch) {
  for (std::int64_t epoch = 0; epoch < 25; ++epoch) expect_even(epoch, epoch + 1);
}

TEST(EpochDraws, AreEvenOverEpochs) {
  expect_even(0, 9);
  expect_even(3, 40);
}

TEST(EpochDraws, NumberTheRepeatsOfAnUtterance) {
  for (const std::int64_t epoch : {0, 7}) {
    const EpochDraws draws(mixture(), kUtterances, {5, epoch});
    std::map<std::uint64_t, std::set<std::uint32_t>> repeats;
    std::set<std::uint64_t> keys;
    for (std::uint64_t number = 0; number < draws.size(); ++number) {
      const Draw draw = draws.at(number);
      EXPECT_TRUE(repeats[draw.id].insert(draw.repeat).second);
      EXPECT_TRUE(keys.insert(draw_key(draw)).second);
    }
    for (const auto& [id, of_id] : repeats) {
      EXPECT_EQ(*of_id.rbegin() + 1, of_id.size());  // from 0 on
      EXPECT_LE(of_id.size(), mixture().max_repeats(id));
    }
  }
}

TEST(EpochDraws, DifferBySeedAndEpoch) {
  const auto ids = [](const EpochKey& key) {
    const EpochDraws draws(mixture(), kUtterances, key);
    std::set<std::uint64_t> ids;
    for (std::uint64_t number = 0; number < draws.size(); ++number) ids.insert(draws.at(number).id);
    return ids;
  };
  EXPECT_EQ(ids({5, 2}), ids({5, 2}));
  EXPECT_NE(ids({5, 2}), ids({5, 3}));
  EXPECT_NE(ids({5, 2}), ids({6, 2}));
}

/// A random part of a manifest, not its beginning: of 300, some 25 in each third.
TEST(EpochDraws, AreFromAllOfAManifest) {
  const EpochDraws draws(mixture(), kUtterances, {5, 0});
  std::map<std::uint64_t, int> of_thirds;
  for (std::uint64_t number = 0; draws.at(number).id < 300; ++number)
    ++of_thirds[draws.at(number).id / 100];
  ASSERT_EQ(of_thirds.size(), 3u);
  for (const auto& [third, count] : of_thirds) EXPECT_GT(count, 5) << third;
}

TEST(EpochDraws, WithoutMixtureAreTheUtterances) {
  const EpochDraws draws({}, 7, {5, 3});
  ASSERT_EQ(draws.size(), 7u);
  for (std::uint64_t number = 0; number < 7; ++number) {
    EXPECT_EQ(draws.at(number).id, number);
    EXPECT_EQ(draw_key(draws.at(number)), number);
  }
}

}  // namespace
}  // namespace penstock::runtime
