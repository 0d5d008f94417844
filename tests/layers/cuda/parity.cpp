#include "tests/layers/cuda/parity.h"

#include <limits>
#include <string>

namespace penstock::layers {
namespace {

DType held_on_cpu(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace

void Parity::SetUp() {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  cpu_ = make_cpu_backend();
  cuda_ = make_cuda_backend(0, GetParam().products);
  cpu_stream_ = cpu_->make_stream();
  cuda_stream_ = cuda_->make_stream();
}

Twin Parity::random(DType dtype, const Shape& shape, double low, double high) {
  return twin(dtype, shape, test::uniform(element_count(shape), seed_++, low, high));
}

Twin Parity::unwritten(DType dtype, const Shape& shape) {
  const std::vector<double> values(static_cast<std::size_t>(element_count(shape)),
                                   std::numeric_limits<double>::quiet_NaN());
  return twin(dtype, shape, values);
}

Twin Parity::twin(DType dtype, const Shape& shape, std::span<const double> values) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  test::GuardedMemory rounded(count * size_of(dtype));
  const Tensor source{rounded.data(), dtype, shape};
  test::assign(source, values);
  const Tensor on_cpu{host_.emplace_back(count * size_of(held_on_cpu(dtype))).data(),
                      held_on_cpu(dtype), shape};
  test::assign(on_cpu, test::numbers(source));
  const Tensor on_cuda{device_.emplace_back(cuda_->allocate(source.bytes())).data(), dtype, shape};
  cuda_->copy_in(*cuda_stream_, on_cuda.data, source.data, source.bytes());
  return {on_cpu, on_cuda};
}

std::vector<double> Parity::on_device(const Tensor& tensor) {
  test::GuardedMemory memory(tensor.bytes());
  cuda_->copy_out(*cuda_stream_, memory.data(), tensor.data, tensor.bytes());
  cuda_->synchronize(*cuda_stream_);
  return test::numbers({memory.data(), tensor.dtype, tensor.shape});
}

std::span<std::byte> Parity::host_memory(std::size_t bytes) {
  return host_.emplace_back(bytes).bytes();
}

std::span<std::byte> Parity::device_memory(std::size_t bytes) {
  return {device_.emplace_back(cuda_->allocate(bytes)).data(), bytes};
}

void Parity::expect_close(const Twin& twin, double tolerance, const char* what) {
  EXPECT_LE(test::relative_error(on_device(twin.cuda), test::numbers(twin.cpu)), tolerance) << what;
}

double Parity::sum_tolerance() const {
  return 1e-5 + (GetParam().products == Fp32Products::tf32 ? 0x1p-10 : 0);
}

double Parity::tolerance() const {
  switch (dtype()) {
    case DType::f16:
      return 0x1p-11 + sum_tolerance();
    case DType::bf16:
      return 0x1p-8 + sum_tolerance();
    default:
      return sum_tolerance();
  }
}

std::string name_of_parameter(const ::testing::TestParamInfo<Format>& info) {
  if (info.param.products == Fp32Products::tf32) return "tf32";
  return std::string(name_of(info.param.dtype));
}

}  // namespace penstock::layers
