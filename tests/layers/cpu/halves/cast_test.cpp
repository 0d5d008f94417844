#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/columns.h"
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

TEST(CastColumns, ConvertsThemAndLeavesTheOthers) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const std::vector<double> before(3 * 5, 7);
  for (DType from : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (DType to : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const GuardedMemory a(3 * 4 * size_of(from)), b(before.size() * size_of(to));
      const Tensor source{a.data(), from, {3, 4}}, target{b.data(), to, {3, 5}};
      test::assign(source, std::vector<double>{9, 0.1, 0.2, 9, 9, 1.1, 1.2, 9, 9, 2.1, 2.2, 9});
      test::assign(target, before);
      backend->run(*stream, CastColumns{source, target, 2, 1, 3});
      b.check("target");
      std::vector<double> expected = before;
      for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 2; ++column)
          expected[row * 5 + 3 + column] = rounded(to, numbers(source)[row * 4 + 1 + column]);
      EXPECT_EQ(numbers(target), expected) << name_of(from) << " to " << name_of(to);
    }
}

TEST(CastColumns, RejectsColumnsThatAMatrixLacks) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const GuardedMemory memory(64);
  const Tensor narrow{memory.data(), DType::f32, {2, 3}}, wide{memory.data(), DType::f32, {2, 5}};
  const Tensor longer{memory.data(), DType::f32, {3, 3}}, flat{memory.data(), DType::f32, {6}};
  for (const CastColumns& op :
       {CastColumns{narrow, wide, 2, 2, 0}, CastColumns{narrow, wide, 2, 0, 4},
        CastColumns{narrow, wide, 2, -1, 0}, CastColumns{longer, wide, 1},
        CastColumns{flat, wide, 1}})
    EXPECT_THROW(backend->run(*stream, op), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
