#include "partition/planner/placement/bound/priced_path.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

/// All ways through nodes, one after the other; memory suffices everywhere.
struct Tried {
  const SequenceLoad& sequence;
  const std::vector<NodeType>& types;
  double limit = 0;
  const std::vector<double>& prices;
  bool counts_loads = false;

  double load(const NodeType& type, const NodeStage& stage, int first, int last, bool inside,
              bool stays) const {
    double seconds = stage.per_work * sequence.work(first, last) +
                     stage.reduction.seconds(sequence.parameters(first, last));
    if (first > 0)
      seconds += (inside ? type.within : type.between).seconds(sequence.crossing(first));
    if (last < sequence.size())
      seconds += (stays ? type.within : type.between).seconds(sequence.crossing(last));
    return seconds;
  }

  /// Returns the lowest price of the layers from `first` on. Nodes of type `run` go on in `state`;
  /// null: new ones begin.
  double min(int first, const NodeType* run, int state) const {
    if (first == sequence.size()) return run == nullptr ? 0 : kNothing;
    double best = kNothing;
    for (const NodeType& type : types) {
      if (run != nullptr && run != &type) continue;
      for (const NodeStage& stage : type.stages) {
        int next = stage.begun;
        if (run != nullptr) {
          next = -1;
          for (const NodeMove& move : stage.moves)
            if (move.from == state) next = move.to;
          if (next < 0) continue;
        }
        for (int last = first + 1; last <= sequence.size(); ++last)
          for (const bool stays : {false, true}) {
            if (stays && (next <= 0 || last == sequence.size())) continue;
            const double seconds = load(type, stage, first, last, run != nullptr, stays);
            if (!(seconds <= limit)) continue;
            best = std::min(best, prices[stage.kind] + (counts_loads ? seconds : 0) +
                                      min(last, stays ? &type : nullptr, next));
          }
      }
    }
    return best;
  }
};

TEST(PricedPaths, CheapestIsThatOfAllPaths) {
  std::mt19937 random(51);
  int found = 0, none = 0, mixed = 0;
  for (int round = 0; round < 400; ++round) {
    test::Instance instance = test::random_instance(random, {.max_layers = 5});
    for (Device& device : instance.cluster.devices) device.memory = 1e12;
    const PlacementProblem problem = instance.problem();
    const DeviceKinds kinds(problem.cluster);
    const int replicas = 1 + round % std::min(2, problem.cluster.size());
    const auto types = node_types(problem, kinds, replicas);
    std::vector<double> prices;
    for (std::size_t kind = 0; kind < kinds.speeds.size(); ++kind)
      prices.push_back(1e-3 * static_cast<double>(random() % 9));
    const double limit =
        min_bottleneck(problem, 1) * std::uniform_real_distribution(0.8, 3.0)(random);
    PricedPaths paths(problem.sequence, types, 1, limit);
    for (const bool counts_loads : {false, true}) {
      const double expected =
          Tried{problem.sequence, types, limit, prices, counts_loads}.min(0, nullptr, 0);
      const PricedPath path = paths.cheapest(prices, counts_loads);
      if (expected == kNothing) {
        EXPECT_EQ(path.cost, kNothing) << round;
        ++none;
        continue;
      }
      EXPECT_NEAR(path.cost, expected, 1e-12 * (1 + expected)) << round;
      double paid = 0;
      for (std::size_t kind = 0; kind < prices.size(); ++kind)
        paid += prices[kind] * path.used[kind];
      if (counts_loads)
        EXPECT_GE(path.cost, paid) << round;
      else
        EXPECT_NEAR(path.cost, paid, 1e-12) << round;
      ++found;
      mixed += kinds.speeds.size() > 1;
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(none, 20);
  EXPECT_GT(mixed, 100);
}

}  // namespace
}  // namespace penstock::partition
