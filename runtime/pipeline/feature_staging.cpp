#include "runtime/pipeline/feature_staging.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace penstock::runtime {

/// To give memory back waits for the device, on which a message may spin: what is too small stays.
void FeatureStaging::grow(Part& part, layers::Backend& backend, std::size_t bytes) {
  layers::Buffer larger = backend.allocate_host(std::max(bytes, 2 * part.memory.bytes()));
  outgrown_.push_back(std::exchange(part.memory, std::move(larger)));
}

void FeatureStaging::carry(layers::Backend& backend, layers::Stream& stream, const Fill& fill,
                           std::span<float> x_FC, std::span<float> weights) {
  Part& part = parts_[turn_++ % parts_.size()];
  while (part.left != nullptr && !part.left->query()) {
    stream.progress();
    std::this_thread::yield();
  }
  const std::size_t bytes = x_FC.size_bytes() + weights.size_bytes();
  if (part.memory.bytes() < bytes) grow(part, backend, bytes);
  const std::span<float> host = {reinterpret_cast<float*>(part.memory.data()),
                                 x_FC.size() + weights.size()};
  const auto features = host.first(x_FC.size()), own_weights = host.subspan(x_FC.size());
  fill(features, own_weights);
  backend.copy_in_async(stream, x_FC.data(), features.data(), features.size_bytes());
  backend.copy_in_async(stream, weights.data(), own_weights.data(), own_weights.size_bytes());
  part.left = backend.record(stream);
}

}  // namespace penstock::runtime
