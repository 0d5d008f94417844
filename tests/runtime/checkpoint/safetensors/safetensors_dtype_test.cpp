#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

TEST(SafetensorsDtype, NamesEveryDtypeThatIsComputedWith) {
  for (const layers::DType dtype : {layers::DType::f32, layers::DType::f64, layers::DType::f16,
                                    layers::DType::bf16, layers::DType::i32, layers::DType::i64}) {
    EXPECT_EQ(from_safetensors(to_safetensors(dtype)), dtype);
    EXPECT_EQ(safetensors_bits(to_safetensors(dtype)), 8 * layers::size_of(dtype));
  }
}

TEST(SafetensorsDtype, KnowsTheSizesOfTheOthers) {
  EXPECT_EQ(safetensors_bits("BOOL"), 8u);
  EXPECT_EQ(safetensors_bits("F4"), 4u);
  EXPECT_EQ(safetensors_bits("F6_E2M3"), 6u);
  EXPECT_EQ(safetensors_bits("C64"), 64u);
  EXPECT_FALSE(from_safetensors("BOOL"));
  EXPECT_FALSE(safetensors_bits("f32"));
  EXPECT_FALSE(safetensors_bits(""));
}

}  // namespace
}  // namespace penstock::runtime
