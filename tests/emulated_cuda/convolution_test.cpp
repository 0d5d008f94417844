// How penstock's convolutions choose among cuDNN's algorithms.

#include <gtest/gtest.h>

#include <vector>

#include "layers/backend.h"
#include "layers/ops/conv2d.h"
#include "tests/emulated_cuda/emulation/control.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers;

class Convolution : public ::testing::Test {
 protected:
  /// Convolves one utterance of so many frames: x and the weight are zeros.
  void convolve(std::int64_t frames, DType dtype = DType::f32) {
    const std::vector<std::int64_t> lengths = {frames};
    const Conv2dGeometry geometry{.in_channels = 1,
                                  .out_channels = 3,
                                  .frequency = {1, 1, 0},
                                  .time = {3, 1, 1},
                                  .in_frequencies = 2,
                                  .lengths = lengths};
    const std::size_t bytes =
        conv2d_sizes({DeviceKind::cuda, dtype}, geometry).forward + kTensorBytes;
    const Buffer memory = backend_->allocate(3 * kTensorBytes),
                 workspace = backend_->allocate(bytes);
    backend_->zero(*stream_, memory.data(), memory.bytes());
    const auto tensor = [&](std::size_t place, const Shape& shape) {
      return Tensor{memory.data() + place * kTensorBytes, dtype, shape};
    };
    backend_->run(*stream_, Conv2dForward{geometry,
                                          tensor(0, {frames, geometry.in_columns()}),
                                          tensor(1, geometry.weight_shape()),
                                          tensor(2, {frames, geometry.out_columns()}),
                                          {workspace.data(), bytes}});
    backend_->synchronize(*stream_);
  }

  static constexpr std::size_t kTensorBytes = 4096;
  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream({});
};

TEST_F(Convolution, AsksOnceForABucketOfRows) {
  const int before = choices_asked_for();
  for (const std::int64_t frames : {65, 72, 65, 67}) convolve(frames);
  EXPECT_EQ(choices_asked_for() - before, 1);
  convolve(73);
  EXPECT_EQ(choices_asked_for() - before, 2);
}

TEST_F(Convolution, AsksNothingAboutWhatItKnows) {
  convolve(65);
  const int workspaces = workspaces_asked_for(), refusals = refused_by_libraries(),
            computed = computed_by_libraries();
  EXPECT_GT(workspaces, 0);
  EXPECT_GT(refusals, 0);
  for (const std::int64_t frames : {65, 72, 67}) convolve(frames);
  EXPECT_EQ(workspaces_asked_for(), workspaces);
  EXPECT_EQ(refused_by_libraries(), refusals);
  EXPECT_EQ(computed_by_libraries() - computed, 3);
}

TEST_F(Convolution, TakesAlgorithmsWithTheirMathTypes) {
  const int before = computed_by_libraries();
  convolve(5, DType::f16);  // one channel: only without tensor cores
  EXPECT_EQ(computed_by_libraries() - before, 1);
  convolve(5, DType::f32);
  EXPECT_EQ(computed_by_libraries() - before, 2);
}

TEST_F(Convolution, IsOursWhereCudnnHasNone) {
  const int before = computed_by_libraries();
  convolve(5, DType::bf16);
  EXPECT_EQ(computed_by_libraries() - before, 0);
}

}  // namespace
}  // namespace emulated_cuda::test
