#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  /// GiB of the fullest of so many stages.
  double fullest(int stages) const {
    const auto outcome =
        folder_.run({"plan", folder_.in("recipe.toml"), kWide,
                     fmt::format("pipeline.stages={}", stages), "--computed", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    double max = 0;
    const auto report = nlohmann::json::parse(outcome.out);
    for (const auto& stage : report["plan"])
      max = std::max(max, stage["bytes"]["total"].get<double>());
    return max / (1 << 30);
  }
  test::Outcome train(const std::string& output, int stages, double gib) const {
    return folder_.train(output,
                         {kWide, fmt::format("pipeline.stages={}", stages), "trainer.steps=2",
                          fmt::format("pipeline.memory_gib={:f}", gib)},
                         {stages});
  }

  static constexpr const char* kWide = "model.hidden=200";
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(MemoryLimit, RefusalNamesThePlanThatFits) {
  const double enough = 1.02 * fullest(2);
  ASSERT_LT(enough, fullest(1));
  const auto refused = train("refused", 1, enough);
  EXPECT_EQ(refused.code, 2);
  for (const char* said : {"memory binds", "found: pipeline.stages = 2 under mpirun -np 2"})
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.in("refused")));
  EXPECT_EQ(train("fits", 2, enough).code, 0);
}

TEST_F(MemoryLimit, HoldsWhileLayersAreMeasured) {
  const char* said = "the times of the layers are not measured";
  const double tight = 1.02 * fullest(3);
  const auto within = train("within", 3, tight), free = train("free", 3, 1);
  EXPECT_EQ(within.code, 0) << within.err;
  EXPECT_NE(within.err.find(said), std::string::npos) << within.err;
  EXPECT_EQ(free.code, 0) << free.err;
  EXPECT_EQ(free.err.find(said), std::string::npos) << free.err;
}

}  // namespace
}  // namespace penstock::tools
