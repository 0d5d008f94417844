#include "runtime/pipeline/feature_staging.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/support/layers/tensors.h"

namespace penstock::runtime {
namespace {

/// Micro-batches of unequal sizes, the later ones larger: weights after features.
constexpr FeatureStaging::Count kCounts[] = {{35, 3}, {301, 1}, {17, 2}, {999, 5}};

std::vector<float> numbers_of(std::size_t micro_batch) {
  std::vector<float> numbers;
  for (const double x :
       test::uniform(kCounts[micro_batch].features + kCounts[micro_batch].weights, micro_batch))
    numbers.push_back(static_cast<float>(x));
  return numbers;
}

class CudaFeatureStaging : public ::testing::Test {
 protected:
  void SetUp() override {
    if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    backend_ = layers::make_cuda_backend();
    computing_ = backend_->make_stream();
    staging_ = std::make_unique<FeatureStaging>(*backend_);
  }

  void send(std::size_t micro_batch) {
    staging_->send(*computing_, kCounts[micro_batch],
                   [&](std::span<float> x_FC, std::span<float> weights) {
                     const std::vector<float> numbers = numbers_of(micro_batch);
                     std::copy_n(numbers.begin(), x_FC.size(), x_FC.begin());
                     std::copy_n(numbers.end() - weights.size(), weights.size(), weights.begin());
                   });
  }
  /// Returns a copy of the next arrival, made on the computing stream: features, then weights.
  layers::Buffer read() {
    const FeatureStaging::Arrival arrived = staging_->take(*computing_);
    layers::Buffer copy =
        backend_->allocate(arrived.x_FC.size_bytes() + arrived.weights.size_bytes());
    backend_->copy(*computing_, copy.data(), arrived.x_FC.data(), arrived.x_FC.size_bytes());
    backend_->copy(*computing_, copy.data() + arrived.x_FC.size_bytes(), arrived.weights.data(),
                   arrived.weights.size_bytes());
    staging_->release(*computing_);
    return copy;
  }
  std::vector<float> on_host(const layers::Buffer& buffer) {
    std::vector<float> numbers(buffer.bytes() / sizeof(float));
    backend_->copy_out(*computing_, numbers.data(), buffer.data(), buffer.bytes());
    backend_->synchronize(*computing_);
    return numbers;
  }

  std::unique_ptr<layers::Backend> backend_;
  std::unique_ptr<layers::Stream> computing_;
  std::unique_ptr<FeatureStaging> staging_;
};

TEST_F(CudaFeatureStaging, CarriesEachMicroBatchWhole) {
  for (const std::size_t reserved : {std::size_t{0}, 2 * kCounts[3].bytes()}) {
    staging_->reserve(reserved);
    std::vector<layers::Buffer> copies;
    send(0);
    for (std::size_t m = 0; m < std::size(kCounts); ++m) {
      copies.push_back(read());
      if (m + 1 < std::size(kCounts)) send(m + 1);
    }
    for (std::size_t m = 0; m < copies.size(); ++m) EXPECT_EQ(on_host(copies[m]), numbers_of(m));
  }
}

TEST_F(CudaFeatureStaging, HoldsOneAtATime) {
  EXPECT_THROW(staging_->take(*computing_), Error);
  send(2);
  EXPECT_THROW(send(3), Error);
}

}  // namespace
}  // namespace penstock::runtime
