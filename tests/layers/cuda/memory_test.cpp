#include "tests/layers/cuda/parity.h"

namespace penstock {
namespace {

class CudaMemory : public test::Parity {};

TEST_P(CudaMemory, CarriesMoreThanItsPinnedStagingHolds) {
  const Shape shape = {(40 << 20) / 4 + 3};  // of 16 MiB
  const test::Twin values = random(DType::f32, shape);
  expect_close(values, 0, "there and back");
}

TEST_P(CudaMemory, Zeroes) {
  const test::Twin values = random(DType::f32, {1037});
  cuda_->zero(*cuda_stream_, values.cuda.data, values.cuda.bytes() - 4);
  const auto found = on_device(values.cuda);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) EXPECT_EQ(found[i], 0) << i;
  EXPECT_EQ(found.back(), test::numbers(values.cpu).back());
}

TEST_P(CudaMemory, DescribesItself) {
  EXPECT_EQ(cuda_->kind(), DeviceKind::cuda);
  EXPECT_NE(cuda_->description().find("CUDA device 0"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaMemory, ::testing::Values(DType::f32), test::name_of_parameter);

}  // namespace
}  // namespace penstock
