#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaMemory : public Parity {};

TEST_P(CudaMemory, CarriesMoreThanItsPinnedStagingHolds) {
  const Shape shape = {(40 << 20) / 4 + 3};  // of 16 MiB, and 4 back
  const Twin values = random(DType::f32, shape);
  expect_close(values, 0, "there and back");
}

TEST_P(CudaMemory, CopiesBetweenStreamsInTheOrderOfEvents) {
  const Twin from = random(DType::f32, {1037}), to = unwritten(DType::f32, {1037});
  const Buffer staging = cuda_->allocate_host(from.cuda.bytes());
  const auto out = cuda_->make_stream(), in = cuda_->make_stream();
  cuda_->wait(*out, *cuda_->record(*cuda_stream_));  // `from` is copied in there
  cuda_->copy_out_async(*out, staging.data(), from.cuda.data, from.cuda.bytes());
  const auto whole = cuda_->record(*out);
  cuda_->wait(*in, *whole);
  cuda_->copy_in_async(*in, to.cuda.data, staging.data(), to.cuda.bytes());
  cuda_->wait(*cuda_stream_, *cuda_->record(*in));
  EXPECT_EQ(on_device(to.cuda), test::numbers(from.cpu));
  EXPECT_TRUE(whole->query());
}

TEST_P(CudaMemory, CopiesOnTheDevice) {
  const Twin from = random(DType::f32, {1037}), to = unwritten(DType::f32, {1037});
  cuda_->copy(*cuda_stream_, to.cuda.data, from.cuda.data, to.cuda.bytes());
  EXPECT_EQ(on_device(to.cuda), test::numbers(from.cpu));
}

TEST_P(CudaMemory, Zeroes) {
  const Twin values = random(DType::f32, {1037});
  cuda_->zero(*cuda_stream_, values.cuda.data, values.cuda.bytes() - 4);
  const auto found = on_device(values.cuda);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) EXPECT_EQ(found[i], 0) << i;
  EXPECT_EQ(found.back(), test::numbers(values.cpu).back());
}

TEST_P(CudaMemory, DescribesItself) {
  EXPECT_EQ(cuda_->kind(), DeviceKind::cuda);
  EXPECT_NE(cuda_->description().find("CUDA device 0"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaMemory, ::testing::Values(DType::f32), name_of_parameter);

}  // namespace
}  // namespace penstock::layers
