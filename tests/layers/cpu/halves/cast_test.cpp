#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::GuardedMemory;
using test::numbers;

const std::vector<double> kNumbers = {0, -1, 0.1, 1 + 0x1p-11, -65504, 0x1p-24, 3.14159265358979};

double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f16:
      return to_float(to_half(static_cast<float>(value)));
    case DType::bf16:
      return to_float(to_bfloat16(static_cast<float>(value)));
    case DType::f32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

TEST(Cast, RoundsBetweenAllPairs) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const auto count = static_cast<std::int64_t>(kNumbers.size());
  for (DType from : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (DType to : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const GuardedMemory a(kNumbers.size() * size_of(from)), b(kNumbers.size() * size_of(to));
      const Tensor source{a.data(), from, {count}}, target{b.data(), to, {count}};
      test::assign(source, kNumbers);
      backend->run(*stream, Cast{source, target});
      b.check("target");
      for (std::size_t i = 0; i < kNumbers.size(); ++i)
        EXPECT_EQ(numbers(target)[i], rounded(to, rounded(from, kNumbers[i])))
            << name_of(from) << " to " << name_of(to) << ", " << kNumbers[i];
    }
}

TEST(Cast, RejectsIntegersAndUnequalSizes) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const GuardedMemory memory(64);
  const Tensor integers{memory.data(), DType::i32, {3}}, floats{memory.data(), DType::f32, {4}};
  EXPECT_THROW(backend->run(*stream, Cast{integers, floats}), ShapeError);
  EXPECT_THROW(backend->run(*stream, Cast{Tensor{memory.data(), DType::i32, {4}}, floats}),
               DeviceError);
}

}  // namespace
}  // namespace penstock::layers
