#include "comm/lane_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <vector>

#include "base/bit_reversal.h"
#include "base/error.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

constexpr std::int64_t kElements = 5003;

/// Numbers whose sum depends on the order of its additions.
template <class T>
std::vector<T> gradients(int lane, int step) {
  std::mt19937 random(static_cast<unsigned>(1000 * step + lane));
  std::normal_distribution<double> values;
  std::vector<T> result(kElements);
  for (T& value : result)
    value = static_cast<T>(values(random) * std::exp2(static_cast<int>(random() % 40) - 20));
  return result;
}

/// The sum over lanes [begin, end): of the largest power of two of them below all, and the others.
template <class T>
std::vector<T> sum_in_tree(int begin, int end, int step) {
  if (end - begin == 1) return gradients<T>(begin, step);
  int left = 1;
  while (2 * left < end - begin) left *= 2;
  std::vector<T> sum = sum_in_tree<T>(begin, begin + left, step);
  const std::vector<T> other = sum_in_tree<T>(begin + left, end, step);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  return sum;
}

struct Case {
  const char* name;
  std::vector<int> lanes_of;
  std::vector<std::int64_t> bucket_ends;
  std::vector<std::vector<std::int64_t>> owned_ends = {};
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

/// The elements whose sums a rank's first arena holds then: all or, where they have owners, its
/// own.
std::vector<bool> summed_of(const Case& c, int rank) {
  std::vector<bool> summed(kElements, c.owned_ends.empty());
  const int place = bit_reversed_places(static_cast<int>(c.lanes_of.size()))[rank];
  for (std::size_t bucket = 0; bucket < c.owned_ends.size(); ++bucket) {
    const std::vector<std::int64_t>& ends = c.owned_ends[bucket];
    const std::int64_t start = bucket == 0 ? 0 : c.bucket_ends[bucket - 1];
    for (std::int64_t i = place == 0 ? start : ends[place - 1]; i < ends[place]; ++i)
      summed[static_cast<std::size_t>(i)] = true;
  }
  return summed;
}

template <class T>
void reduce(Communicator& group, const Case& c) {
  const int rank = group.rank();
  int first = 0, lanes = 0;
  for (int replica = 0; replica < group.size(); ++replica) {
    if (replica < rank) first += c.lanes_of[static_cast<std::size_t>(replica)];
    lanes += c.lanes_of[static_cast<std::size_t>(replica)];
  }
  const int own = c.lanes_of[static_cast<std::size_t>(rank)];
  std::vector<std::vector<T>> arenas(static_cast<std::size_t>(own), std::vector<T>(kElements));
  std::vector<std::byte*> pointers;
  for (auto& arena : arenas) pointers.push_back(reinterpret_cast<std::byte*>(arena.data()));
  LaneReduction reduction(
      group, {layers::DTypeOf<T>::value, c.bucket_ends, c.lanes_of, c.owned_ends}, pointers);
  const int buckets = static_cast<int>(c.bucket_ends.size());
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < own; ++i)
      std::ranges::copy(gradients<T>(first + i, step), arenas[static_cast<std::size_t>(i)].begin());
    for (int i = 0; i < buckets; ++i) {
      // Backwards, as gradients become whole; odd ranks in another order.
      reduction.start(rank % 2 == 0 ? buckets - 1 - i : i);
      reduction.progress();
    }
    reduction.finish();
    const std::vector<T> sums = sum_in_tree<T>(0, lanes, step);
    const std::vector<bool> summed = summed_of(c, rank);
    for (std::size_t i = 0; i < sums.size(); ++i)
      ASSERT_TRUE(!summed[i] || std::memcmp(&arenas[0][i], &sums[i], sizeof(T)) == 0)
          << c.name << ", rank " << rank << ", step " << step << ", element " << i;
  }
}

class LaneReductionTest : public ::testing::TestWithParam<Case> {};

TEST_P(LaneReductionTest, AddsInTheTreeToTheBit) {
  for (bool rendezvous : {false, true}) {
    const ThreadsOptions options{static_cast<int>(GetParam().lanes_of.size()), rendezvous};
    run_as_threads(options, [](Communicator& group) { reduce<float>(group, GetParam()); });
    run_as_threads(options, [](Communicator& group) { reduce<double>(group, GetParam()); });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, LaneReductionTest,
    ::testing::Values(
        Case{"one lane", {1}, {100, kElements}},
        Case{"three lanes of one replica", {3}, {1, 2000, kElements}},
        Case{"two replicas", {1, 1}, {kElements}},
        Case{"tiny and empty buckets", {1, 1, 1}, {1, 1, 18, 700, kElements}},
        Case{"uneven lanes", {2, 1, 3}, {333, 4096, kElements}},
        Case{"five replicas", {1, 1, 1, 1, 1}, {2500, kElements}},
        Case{"seven replicas of twelve lanes", {2, 2, 2, 2, 2, 1, 1}, {17, 2500, kElements}},
        Case{"eight replicas", {1, 1, 1, 1, 1, 1, 1, 1}, {2500, kElements}},
        Case{"lanes across subtrees", {1, 4, 3, 3}, {kElements}},
        Case{"owners", {1, 2}, {1000, kElements}, {{17, 1000}, {3001, kElements}}},
        Case{"owners of nothing",
             {1, 1, 2},
             {700, 701, kElements},
             {{0, 700, 700}, {700, 700, 701}, {701, 5000, kElements}}},
        Case{"five owners of eight lanes",
             {2, 2, 2, 1, 1},
             {1000, kElements},
             {{10, 10, 500, 501, 1000}, {1001, 2000, 3333, 4000, kElements}}}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST(LaneReductionErrors, StatesWhatDoesNotFit) {
  const auto ranks = make_thread_communicators({.ranks = 1});
  std::vector<float> arena(8);
  std::byte* data = reinterpret_cast<std::byte*>(arena.data());
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f16, {8}, {1}}, {data}), ShapeError);
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f32, {8}, {1, 1}}, {data}), ShapeError);
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f32, {8}, {2}}, {data}), ShapeError);
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f32, {8, 4}, {1}}, {data}), ShapeError);
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f32, {8}, {1}, {{7}}}, {data}), ShapeError);
  EXPECT_THROW(LaneReduction(*ranks[0], {layers::DType::f32, {4, 8}, {1}, {{8}}}, {data}),
               ShapeError);
  LaneReduction reduction(*ranks[0], {layers::DType::f32, {4, 8}, {1}}, {data});
  reduction.start(1);
  EXPECT_THROW(reduction.start(1), ShapeError);
  EXPECT_THROW(reduction.finish(), ShapeError);
}

TEST(LaneReductionPlan, StagesWhatARoundReceives) {
  const LaneReductionPlan plan{layers::DType::f32, {64, 128}, {1, 2}};
  EXPECT_EQ(staging_bytes(plan, 0), (32u + 32) * 4);  // a sum, once lane 1 has come to lane 0
  EXPECT_EQ(staging_bytes(plan, 1), (32u + 32) * 4);
  const LaneReductionPlan owned{layers::DType::f32, {64, 128}, {1, 2}, {{60, 64}, {64, 128}}};
  EXPECT_EQ(staging_bytes(owned, 0), 60u * 4);
  EXPECT_EQ(staging_bytes(owned, 1), (4u + 64) * 4);
  const LaneReductionPlan eight{layers::DType::f64, {256}, std::vector<int>(8, 1)};
  for (int replica = 0; replica < 8; ++replica) EXPECT_EQ(staging_bytes(eight, replica), 128u * 8);
}

TEST(LaneReductionPlan, KeepsPiecesThatGoTogetherTogether) {
  const LaneReductionPlan plan{layers::DType::f32, {7, 131}, {1, 1, 1, 1}};
  EXPECT_EQ(lane_piece(plan, 1, 1), (ElementRange{7 + 64, 7 + 96}));  // after those of 0 and 2
  EXPECT_EQ(lane_runs(plan, 1, {0, 1}), (std::vector<ElementRange>{{7, 7 + 64}}));
  EXPECT_EQ(lane_runs(plan, 1, {1, 3}),
            (std::vector<ElementRange>{{7 + 32, 7 + 64}, {7 + 96, 131}}));
  EXPECT_EQ(lane_runs(plan, 0, {2, 3}), (std::vector<ElementRange>{}));
}

}  // namespace
}  // namespace penstock::comm
