#include "layers/models/training_parameters.h"

#include <gtest/gtest.h>

namespace penstock::layers {
namespace {

TEST(TrainingParameters, AreThoseThatEvaluationLeavesOut) {
  EXPECT_TRUE(serves_training_alone("mask.embedding"));
  EXPECT_TRUE(serves_training_alone("block3.intermediate_ctc.output.weight"));
  EXPECT_FALSE(serves_training_alone("block3.self_conditioned_ctc.output.weight"));
  EXPECT_FALSE(serves_training_alone("output.weight"));
}

}  // namespace
}  // namespace penstock::layers
