#include "runtime/recognise/recognise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "partition/layout/build_model.h"
#include "tests/support/runtime/tone_checkpoint.h"
#include "tests/support/runtime/tone_corpus.h"

namespace penstock::runtime {
namespace {

class Recognise : public testing::Test {
 protected:
  std::string refusal(const test::RecognitionLayout& layout) const {
    return test::message_of<ConfigError>([&] { checkpoint_.transcribe(list(), layout); });
  }
  std::vector<Recording> list() const {
    return {{checkpoint_.in("test-0.wav")}, {checkpoint_.in("test-1.wav")}};
  }

  test::ToneCheckpoint checkpoint_;
};

TEST_F(Recognise, OneStagePerLayerFindsTheSameTexts) {
  const configs::Config config =
      configs::parse_config(test::tone_recipe("none", "", "none"), "", layers::model_families());
  const auto layers = static_cast<int>(partition::build_model(config.model, 29).layers.size());
  EXPECT_EQ(checkpoint_.transcribe(list(), {layers, 1}).texts(),
            checkpoint_.transcribe(list()).texts());
  const std::string one = refusal({layers + 1, 1}), two = refusal({2 * layers + 2, 2});
  EXPECT_NE(one.find(fmt::format("mpirun -np {} or fewer", layers)), std::string::npos) << one;
  EXPECT_NE(two.find(fmt::format("mpirun -np {} or fewer", 2 * layers)), std::string::npos) << two;
  EXPECT_NE(two.find("for each of 2 replicas"), std::string::npos) << two;
}

TEST_F(Recognise, ReplicasMustDivideTheRanks) {
  const std::string said = refusal({3, 2});
  EXPECT_NE(said.find("the job has 3 ranks, which 2 replicas can't share equally"),
            std::string::npos)
      << said;
  EXPECT_NE(refusal({1, 2}), "");
}

TEST_F(Recognise, IdentityFollowsCheckpointAndPrecision) {
  const test::ToneCheckpoint other({"trainer.steps=1", "trainer.seed=2"});
  const auto identity = [](const std::string& checkpoint, const std::string& compute) {
    std::string found;
    comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
      Trained trained{checkpoint};
      trained.compute = compute;
      found = Recogniser(trained, world, Scoring::none).identity();
    });
    return found;
  };
  const std::string own = identity(checkpoint_.in("output"), "");
  EXPECT_EQ(identity(checkpoint_.in("output"), "fp32"), own);
  EXPECT_NE(identity(checkpoint_.in("output"), "bf16"), own);
  EXPECT_NE(identity(other.in("output"), ""), own);
}

}  // namespace
}  // namespace penstock::runtime
