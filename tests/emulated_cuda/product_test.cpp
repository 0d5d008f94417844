// How penstock's products choose among cuBLASLt's algorithms.

#include <gtest/gtest.h>

#include "layers/backend.h"
#include "layers/ops/linear.h"
#include "tests/emulated_cuda/emulation/control.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers;

class Product : public ::testing::Test {
 protected:
  /// A layer of 8 inputs: forward, or the gradient of its weight. All numbers are zeros.
  void forward(std::int64_t rows, std::int64_t outputs, DType dtype = DType::f32) {
    run<LinearForward>({tensor(0, dtype, {rows, 8}), tensor(1, dtype, {outputs, 8}),
                        tensor(2, dtype, {outputs}), tensor(3, dtype, {rows, outputs})});
  }
  void backward_weight(std::int64_t rows, std::int64_t outputs, DType dtype = DType::f32) {
    run<LinearBackwardWeight>({tensor(0, dtype, {rows, 8}),
                               tensor(3, dtype, {rows, outputs}),
                               tensor(1, DType::f32, {outputs, 8}),
                               {}});
  }

 private:
  template <class Operation>
  void run(const Operation& operation) {
    backend_->zero(*stream_, memory_.data(), memory_.bytes());
    backend_->run(*stream_, operation);
    backend_->synchronize(*stream_);
  }
  Tensor tensor(std::size_t place, DType dtype, const Shape& shape) const {
    return {memory_.data() + place * kTensorBytes, dtype, shape};
  }

  static constexpr std::size_t kTensorBytes = 8192;
  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream({});
  Buffer memory_ = backend_->allocate(4 * kTensorBytes);
};

TEST_F(Product, AsksOnceForABucketOfRows) {
  const int before = choices_asked_for();
  for (const std::int64_t rows : {65, 72, 65, 67}) forward(rows, 4);
  EXPECT_EQ(choices_asked_for() - before, 1);
  forward(73, 4);
  EXPECT_EQ(choices_asked_for() - before, 2);
}

TEST_F(Product, AsksAgainWhereNoAlgorithmHolds) {
  const int before = choices_asked_for();
  backward_weight(66, 4);  // as even as the bucket's end
  EXPECT_EQ(choices_asked_for() - before, 1);
  backward_weight(67, 4);
  EXPECT_EQ(choices_asked_for() - before, 2);
}

TEST_F(Product, TakesNoEpilogueWhereThereIsNone) {
  const int before = computed_by_libraries();
  forward(5, 4, DType::f16);
  forward(5, 29, DType::f16);
  EXPECT_EQ(computed_by_libraries() - before, 2);
}

TEST_F(Product, IsOursWhereCublasLtHasNone) {
  const int before = computed_by_libraries();
  backward_weight(5, 29, DType::f16);
  EXPECT_EQ(computed_by_libraries() - before, 0);
}

TEST_F(Product, AsksOnceWhereThereIsNone) {
  const int before = choices_asked_for();
  for (const std::int64_t rows : {65, 67, 69}) backward_weight(rows, 29, DType::f16);
  EXPECT_EQ(choices_asked_for() - before, 1);
}

}  // namespace
}  // namespace emulated_cuda::test
