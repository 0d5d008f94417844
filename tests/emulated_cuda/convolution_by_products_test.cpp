// That tiles of a convolution's windows add up, however few rows of the output they have.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "layers/cuda/convolution/convolution_sizes.h"
#include "layers/cuda/convolution/own_convolutions.h"
#include "tools/gpu/facts/device_tensors.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers;

/// Whole numbers, so that sums are exact in any order.
std::vector<float> numbers(std::int64_t count) {
  std::vector<float> some;
  for (std::int64_t i = 0; i < count; ++i) some.push_back(static_cast<float>(i * 7 % 11 - 5));
  return some;
}

class ConvolutionByProducts : public ::testing::Test {
 protected:
  using ToInput = std::function<void(const cuda::Convolution&)>;

  void* upload(const std::vector<float>& values) {
    const std::size_t bytes = values.size() * sizeof(float);
    const auto memory = memory_.memory(bytes);
    stream_.copy_in(memory.data(), values.data(), bytes);
    return memory.data();
  }

  /// The gradient of the input, over NaNs.
  std::vector<float> gradient(const Conv2dGeometry& geometry, std::size_t workspace,
                              const ToInput& convolve) {
    const cuda::Conv2dImage image(geometry);
    std::vector<float> in(static_cast<std::size_t>(image.in_rows * geometry.in_columns()),
                          std::numeric_limits<float>::quiet_NaN());
    const cuda::Convolution convolution{
        .geometry = geometry,
        .dtype = DType::f32,
        .in_rows = image.in_rows,
        .out_rows = image.out_rows,
        .in = upload(in),
        .out = upload(numbers(image.out_rows * geometry.out_columns())),
        .filter = upload(numbers(element_count(geometry.weight_shape()))),
        .workspace = memory_.memory(workspace)};
    convolve(convolution);
    stream_.copy_out(in.data(), convolution.in, in.size() * sizeof(float));
    stream_.synchronize();
    return in;
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  CudaStream stream_{{}};
  penstock::tools::DeviceTensors memory_{*backend_, stream_};
  cuda::Products products_{Fp32Products::full};
};

TEST_F(ConvolutionByProducts, AddsUpTilesOfAnyNumberOfRows) {
  const std::vector<std::int64_t> lengths = {7, 1, 13, 5};
  for (const std::int64_t stride : {1, 2, 3}) {
    const Conv2dGeometry geometry{.in_channels = 3,
                                  .out_channels = 4,
                                  .frequency = {5, 2, 2},
                                  .time = {11, stride, 5},
                                  .in_frequencies = 9,
                                  .lengths = lengths};
    const auto row = static_cast<std::size_t>(geometry.out_frequencies() * 11 * 5 * 3) * 4;
    const auto directly = gradient(geometry, row, [&](const cuda::Convolution& c) {
      cuda::convolve_directly_to_input(stream_, c);
    });
    // Less than a row of windows has no room for a tile.
    for (const std::size_t workspace : {row - 4, row, 3 * row, 100 * row})
      EXPECT_EQ(gradient(geometry, workspace,
                         [&](const cuda::Convolution& c) {
                           cuda::convolve_to_input_by_products(stream_, products_, c);
                         }),
                directly)
          << stride << ", " << workspace / row;
  }
}

}  // namespace
}  // namespace emulated_cuda::test
