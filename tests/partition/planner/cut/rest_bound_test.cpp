#include "partition/planner/cut/rest_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

struct Least {
  double sum = kInfeasible, largest = kInfeasible;
};

/// Tries all cuts of layers [first, layers) into segments from `segment` on.
Least of_all_cuts(const CutShape& shape, const std::function<double(int, int, int)>& cost,
                  int first, int segment) {
  if (segment == shape.segments) return first == shape.layers ? Least{0, 0} : Least{};
  Least min;
  for (int last = first + 1; last <= shape.layers; ++last) {
    const Least rest = of_all_cuts(shape, cost, last, segment + 1);
    const double own = cost(first, last, segment);
    min.sum = std::min(min.sum, own + rest.sum);
    min.largest = std::min(min.largest, std::max(own, rest.largest));
  }
  return min;
}

TEST(RestBound, IsNeverAboveACut) {
  std::mt19937 random(5);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int close = 0, tried = 0;
  for (int round = 0; round < 200; ++round) {
    const CutShape shape{.layers = number(1, 8), .segments = number(1, 4)};
    std::vector<double> until{0}, speed;
    for (int i = 0; i < shape.layers; ++i) until.push_back(until.back() + number(0, 9));
    for (int k = 0; k < shape.segments; ++k) speed.push_back(number(1, 3));
    const auto cost = [&](int first, int last, int segment) {
      return (until[last] - until[first]) / speed[segment];
    };
    const RestBound bound(shape, cost);
    for (int first = 0; first <= shape.layers; ++first)
      for (int segment = 0; segment <= shape.segments; ++segment) {
        const Least min = of_all_cuts(shape, cost, first, segment);
        EXPECT_LE(bound.largest(first, segment), min.largest);
        if (first == 0 && segment == 0) {
          EXPECT_LE(bound.sum(), min.sum);
        }
        tried += min.largest < kInfeasible;
        close += min.largest < kInfeasible && bound.largest(first, segment) >= 0.7 * min.largest;
      }
  }
  EXPECT_GT(close, tried / 2);
  const RestBound nothing({.layers = 3, .segments = 2}, {});
  EXPECT_EQ(nothing.largest(1, 1), 0);
}

}  // namespace
}  // namespace penstock::partition
