#include "comm/lane_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <vector>

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

template <class T>
std::vector<T> sum_in_lane_order(int lanes, int step) {
  std::vector<T> sum = gradients<T>(0, step);
  for (int lane = 1; lane < lanes; ++lane) {
    const std::vector<T> other = gradients<T>(lane, step);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  }
  return sum;
}

struct Case {
  const char* name;
  std::vector<int> lanes_of;
  std::vector<std::int64_t> bucket_ends;
  std::vector<std::vector<std::int64_t>> owned_ends = {};
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

/// What a rank's first arena holds then: all sums or, where they have owners, its own ones over the
/// gradients of its first lane.
template <class T>
std::vector<T> expected_of(const Case& c, int rank, int first_lane, int lanes, int step) {
  const std::vector<T> sums = sum_in_lane_order<T>(lanes, step);
  if (c.owned_ends.empty()) return sums;
  std::vector<T> expected = gradients<T>(first_lane, step);
  for (std::size_t bucket = 0; bucket < c.owned_ends.size(); ++bucket) {
    const std::vector<std::int64_t>& ends = c.owned_ends[bucket];
    const std::int64_t start = bucket == 0 ? 0 : c.bucket_ends[bucket - 1];
    const std::int64_t begin = rank == 0 ? start : ends[static_cast<std::size_t>(rank - 1)];
    for (std::int64_t i = begin; i < ends[static_cast<std::size_t>(rank)]; ++i)
      expected[static_cast<std::size_t>(i)] = sums[static_cast<std::size_t>(i)];
  }
  return expected;
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
    const std::vector<T> expected = expected_of<T>(c, rank, first, lanes, step);
    EXPECT_EQ(std::memcmp(arenas[0].data(), expected.data(), kElements * sizeof(T)), 0)
        << c.name << ", rank " << rank << ", step " << step;
    for (int i = 1; i < own; ++i)
      EXPECT_EQ(arenas[static_cast<std::size_t>(i)], gradients<T>(first + i, step));
  }
}

class LaneReductionTest : public ::testing::TestWithParam<Case> {};

TEST_P(LaneReductionTest, AddsInLaneOrderToTheBit) {
  for (bool rendezvous : {false, true}) {
    const ThreadsOptions options{static_cast<int>(GetParam().lanes_of.size()), rendezvous};
    run_as_threads(options, [](Communicator& group) { reduce<float>(group, GetParam()); });
    run_as_threads(options, [](Communicator& group) { reduce<double>(group, GetParam()); });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, LaneReductionTest,
    ::testing::Values(Case{"one lane", {1}, {100, kElements}},
                      Case{"three lanes of one replica", {3}, {1, 2000, kElements}},
                      Case{"two replicas", {1, 1}, {kElements}},
                      Case{"tiny and empty buckets", {1, 1, 1}, {1, 1, 18, 700, kElements}},
                      Case{"uneven lanes", {2, 1, 3}, {333, 4096, kElements}},
                      Case{"five replicas", {1, 1, 1, 1, 1}, {2500, kElements}},
                      Case{"owners", {1, 2}, {1000, kElements}, {{17, 1000}, {3001, kElements}}},
                      Case{"owners of nothing",
                           {1, 1, 2},
                           {700, 701, kElements},
                           {{0, 700, 700}, {700, 700, 701}, {701, 5000, kElements}}}),
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

TEST(LaneReductionPlan, StagesWhatOtherLanesSend) {
  const LaneReductionPlan plan{layers::DType::f32, {64, 128}, {1, 2}};
  EXPECT_EQ(staging_bytes(plan, 0), 2u * (32 + 32) * 4);
  EXPECT_EQ(staging_bytes(plan, 1), 1u * (32 + 32) * 4);
  const LaneReductionPlan owned{layers::DType::f32, {64, 128}, {1, 2}, {{60, 64}, {64, 128}}};
  EXPECT_EQ(staging_bytes(owned, 0), 2u * 60 * 4);
  EXPECT_EQ(staging_bytes(owned, 1), 1u * (4 + 64) * 4);
}

}  // namespace
}  // namespace penstock::comm
