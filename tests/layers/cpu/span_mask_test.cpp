#include "layers/ops/span_mask.h"

#include <gtest/gtest.h>

#include "layers/backend.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

/// Numbers of a golden tensor as FP32, and i32 codes of masks.
class SpanMaskOperation : public testing::Test {
 protected:
  SpanMaskOperation() {
    const std::vector<std::int64_t> masked = golden_.integers("frames");
    const std::vector<std::int32_t> lengths = {7, 1, 13, 5};
    for (std::int32_t u = 0; u < 4; ++u)
      for (std::int32_t t = 0; t < lengths[static_cast<std::size_t>(u)]; ++t)
        utterances_.push_back(masked[utterances_.size()] != 0 ? -1 - u : u);
    for (const std::int64_t channel : golden_.integers("channels"))
      channels_.push_back(static_cast<std::int32_t>(channel));
  }

  SpanMask mask() {
    return {{utterances_.data(), DType::i32, {26}}, {channels_.data(), DType::i32, {4, 9}}};
  }
  Tensor matrix(std::vector<float>& numbers) const {
    numbers.resize(26 * 9);
    return {numbers.data(), DType::f32, {26, 9}};
  }
  Tensor golden_matrix(const std::string& name, std::vector<float>& numbers) const {
    const Tensor tensor = matrix(numbers);
    golden_.copy(name, tensor);
    return tensor;
  }
  template <class Operation>
  void run(const Operation& operation) {
    backend_->run(*stream_, operation);
  }

  const test::Golden golden_{"span_mask"};
  std::vector<std::int32_t> utterances_, channels_;

 private:
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

TEST_F(SpanMaskOperation, AgreesWithTransformersExactly) {
  std::vector<float> x, y, dy, dx, embedding(9), dembedding(9, 0);
  const Tensor embedding_C{embedding.data(), DType::f32, {9}};
  const Tensor dembedding_C{dembedding.data(), DType::f32, {9}};
  golden_.copy("embedding", embedding_C);
  run(SpanMaskForward{golden_matrix("x", x), embedding_C, matrix(y), mask()});
  EXPECT_EQ(golden_.error(matrix(y), "y"), 0);
  run(SpanMaskBackwardInput{golden_matrix("dy", dy), matrix(dx), mask()});
  EXPECT_EQ(golden_.error(matrix(dx), "dx"), 0);
  run(SpanMaskBackwardWeight{matrix(dy), dembedding_C, mask()});
  EXPECT_LE(golden_.error(dembedding_C, "dembedding"), 1e-6);
}

TEST_F(SpanMaskOperation, MasksFramesAloneWithoutChannels) {
  std::vector<float> x, y, embedding(9, 7);
  const SpanMask frames{{utterances_.data(), DType::i32, {26}}, {}};
  run(SpanMaskForward{
      golden_matrix("x", x), {embedding.data(), DType::f32, {9}}, matrix(y), frames});
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], utterances_[i / 9] < 0 ? 7 : x[i]) << i;
}

// In FP32, 1 + 2^25 - 2^25 is 0 in the order of frames, and 1 in any other that adds 1 last.
TEST_F(SpanMaskOperation, AddsGradientsInTheOrderOfFrames) {
  std::vector<float> dy = {1, 0x1p25f, 5, -0x1p25f}, sum = {0};
  std::vector<std::int32_t> codes = {-1, -1, 0, -1};
  const SpanMask one{{codes.data(), DType::i32, {4}}, {}};
  run(SpanMaskBackwardWeight{{dy.data(), DType::f32, {4, 1}}, {sum.data(), DType::f32, {1}}, one});
  EXPECT_EQ(sum[0], 0);
}

}  // namespace
}  // namespace penstock::layers
