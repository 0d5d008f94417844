#include "runtime/onnx/model_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace penstock::runtime {
namespace {

ModelWeights weights_with(float last) {
  return {[last](const std::string&, std::int64_t, std::span<float> out) {
            for (float& number : out) number = 2;
            out.back() = last;
          },
          {{"a.weight", {2, 3}}, {"b", {4}}}};
}

TEST(ModelWeights, AreReadWholeByTheirNames) {
  const ModelWeights weights = weights_with(3);
  EXPECT_EQ(weights.read("a.weight"), (std::vector<float>{2, 2, 2, 2, 2, 3}));
  EXPECT_EQ(weights.numbers(), 10);
  EXPECT_THROW((void)weights.read("c"), std::out_of_range);
}

TEST(ModelWeights, NameATensorThatIsNotFinite) {
  for (const float wrong :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    try {
      (void)weights_with(wrong).read("b");
      FAIL();
    } catch (const CheckpointError& error) {
      EXPECT_NE(std::string(error.what()).find("b has the number "), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace penstock::runtime
