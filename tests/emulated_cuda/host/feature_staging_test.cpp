// Features reach a device whose computing stream is busy.

#include "runtime/pipeline/feature_staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/emulated_cuda/emulation/machine.h"

namespace emulated_cuda {
namespace {

using penstock::runtime::FeatureStaging;

/// The stream does nothing that it is asked for from now on, until `*busy` is false.
void keep_busy(penstock::layers::Stream& stream, const std::shared_ptr<bool>& busy) {
  const Call call("keep_busy");
  call.queue_waiting(call.stream(static_cast<cudaStream_t>(stream.native())),
                     [busy](CUstream_st&) { return !*busy; });
}

TEST(FeatureStaging, ArrivesWhileTheDeviceComputes) {
  const auto backend = penstock::layers::make_cuda_backend();
  const auto computing = backend->make_stream(), other = backend->make_stream();
  FeatureStaging staging(*backend);
  const auto busy = std::make_shared<bool>(true);
  keep_busy(*computing, busy);
  staging.send(*computing, {5, 2}, [](std::span<float> x_FC, std::span<float> weights) {
    std::ranges::fill(x_FC, 7.0f);
    std::ranges::fill(weights, 1.0f);
  });
  const FeatureStaging::Arrival arrived = staging.take(*other);
  std::vector<float> features(arrived.x_FC.size());
  backend->copy_out(*other, features.data(), arrived.x_FC.data(), arrived.x_FC.size_bytes());
  backend->synchronize(*other);
  EXPECT_EQ(features, std::vector<float>(5, 7.0f));
  staging.release(*other);
  *busy = false;
  backend->synchronize(*computing);
}

}  // namespace
}  // namespace emulated_cuda
