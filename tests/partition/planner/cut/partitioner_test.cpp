#include "partition/planner/cut/partitioner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::partition {
namespace {

using Loads = std::vector<double>;  // of the stages, slowest first

/// Tries every cut; the least loads, or nothing where none fits.
std::optional<Loads> try_all(const PartitionProblem& problem) {
  std::optional<Loads> best;
  std::function<void(int, int, Loads)> extend = [&](int first, int stage, Loads loads) {
    if (stage == problem.stages) {
      if (first != problem.size()) return;
      std::ranges::sort(loads, std::greater<>());
      if (!best || loads < *best) best = loads;
      return;
    }
    double compute = 0;
    for (int last = first + 1; last <= problem.size(); ++last) {
      compute += problem.compute[last - 1];
      if (problem.bytes && problem.bytes(first, last, stage) > problem.memory[stage]) continue;
      Loads longer = loads;
      longer.push_back(compute + (first > 0 ? problem.transfer[first - 1] : 0) +
                       (last < problem.size() ? problem.transfer[last - 1] : 0));
      extend(last, stage + 1, longer);
    }
  };
  extend(0, 0, {});
  return best;
}

/// Whole numbers, so that sums in any order are exact and ties are frequent.
PartitionProblem random_problem(std::mt19937& random) {
  const auto sample = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  PartitionProblem problem;
  const int layers = sample(1, 9);
  problem.stages = sample(1, std::min(layers, 5));
  std::vector<double> weights;
  for (int i = 0; i < layers; ++i) {
    problem.compute.push_back(sample(0, 12));
    problem.transfer.push_back(sample(0, 3));
    weights.push_back(sample(0, 9));
  }
  if (sample(0, 2) == 0) return problem;
  for (int i = 0; i < problem.stages; ++i) problem.memory.push_back(sample(8, 30));
  // Activations in flight as under 1F1B, and messages that a longer range may save.
  problem.bytes = [weights, stages = problem.stages](int first, int last, int stage) {
    double bytes = first > 0 ? weights[first - 1] : 0;
    for (int i = first; i < last; ++i) bytes += weights[i] * (1 + 0.25 * (stages - stage));
    return bytes;
  };
  return problem;
}

TEST(Partitioner, EqualsTryingEveryCut) {
  std::mt19937 random(3);
  int solved = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const PartitionProblem problem = random_problem(random);
    const auto expected = try_all(problem);
    if (!expected) {
      EXPECT_THROW(partition(problem), ConfigError);
      ++refused;
      continue;
    }
    const Partition found = partition(problem);
    Loads loads;
    ASSERT_EQ(found.begin.size(), problem.stages + 1u);
    for (int stage = 0; stage < problem.stages; ++stage) {
      loads.push_back(problem.load(found.begin[stage], found.begin[stage + 1]));
      if (problem.bytes) {
        EXPECT_LE(problem.bytes(found.begin[stage], found.begin[stage + 1], stage),
                  problem.memory[stage]);
      }
    }
    std::ranges::sort(loads, std::greater<>());
    ASSERT_EQ(loads, *expected);
    EXPECT_EQ(found.bottleneck, loads.front());
    ++solved;
  }
  EXPECT_GT(solved, 1000);
  EXPECT_GT(refused, 300);
}

/// Checks a layer sequence in the neutral form against the optimum that it states for numbers of
/// stages.
void check_instance(const std::filesystem::path& path) {
  const auto sequence = nlohmann::json::parse(std::ifstream(path));
  PartitionProblem problem;
  for (const auto& layer : sequence.at("layers")) {
    problem.compute.push_back(layer.at("forward_ms").get<double>() +
                              layer.at("backward_ms").get<double>());
    problem.transfer.push_back(layer.at("transfer_ms"));
  }
  for (const auto& [stages, optimum] : sequence.at("optimal_bottleneck_ms").items()) {
    problem.stages = std::stoi(stages);
    // The files round to a millionth of a millisecond.
    EXPECT_NEAR(partition(problem).bottleneck, optimum.get<double>(), 1e-6) << path << stages;
  }
}

TEST(Partitioner, ReachesTheOptimumOfKnownSequences) {
  for (const char* name : {"eight_layers", "alexnet", "vgg16", "gnmt", "layer_bert24_inference",
                           "layer_gnmt_inference"}) {
    check_instance(test::source("tests/partition/data/" + std::string(name) + ".json"));
  }
}

std::string error_message(const PartitionProblem& problem) {
  return test::message_of<ConfigError>([&] { partition(problem); });
}

TEST(Partitioner, NamesTheViolatedConstraint) {
  PartitionProblem problem{.compute = {1, 1, 1}, .transfer = {0, 0, 0}, .stages = 4};
  EXPECT_EQ(error_message(problem),
            "pipeline.stages = 4, but the model has 3 layers and a stage needs one: ask for at "
            "most 3");
  problem.stages = 0;
  EXPECT_EQ(error_message(problem), "pipeline.stages = 0: at least 1 is needed");
  problem.stages = 2;
  problem.layers = {"conv1", "rnn1", "ctc"};
  problem.memory = {2147483648.0, 2147483648.0};
  problem.bytes = [](int first, int last, int) { return (last - first) * 1.5 * 1073741824; };
  EXPECT_EQ(error_message(problem),
            "memory binds: of all cuts into 2 stages, the one that needs least needs 3 GiB on "
            "stage 0 (layers conv1 to rnn1), but pipeline.memory_gib allows 2. Allow that much, "
            "ask for more stages, or lower data.micro_batch_seconds");
  problem.stages = 3;
  problem.memory = {1073741824.0, 1073741824.0, 1073741824.0};
  EXPECT_NE(error_message(problem).find("layer conv1 alone"), std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
