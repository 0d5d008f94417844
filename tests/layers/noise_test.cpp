#include "layers/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layers/ops/cast.h"

namespace penstock::layers {
namespace {

TEST(Noise, IsInEveryFormat) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Buffer buffer = backend->allocate(1000 * size_of(dtype));
    fill_with_noise(*backend, *stream, {buffer.data(), dtype, {1000}}, 0.5F);
    std::vector<float> found(1000);
    backend->run(*stream, Cast{{buffer.data(), dtype, {1000}},
                               {reinterpret_cast<std::byte*>(found.data()), DType::f32, {1000}}});
    const auto [min, max] = std::ranges::minmax(found);
    EXPECT_LT(min, -0.4F);
    EXPECT_GT(max, 0.4F);
    EXPECT_LE(std::max(-min, max), 0.5F);
  }
}

}  // namespace
}  // namespace penstock::layers
