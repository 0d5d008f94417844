#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"

namespace penstock::runtime {

/// Double buffer for features on their way to a device. The host writes them, a separate stream
/// copies them, and the computing stream reads them where they arrive. There are two buffers on
/// each side: one micro-batch arrives while the device computes on the previous one.
class FeatureStaging {
 public:
  using Fill = std::function<void(std::span<float> x_FC, std::span<float> weights)>;
  /// Sizes of one micro-batch, in numbers.
  struct Count {
    std::size_t features = 0, weights = 0;
    std::size_t bytes() const { return (features + weights) * sizeof(float); }
  };
  struct Arrival {
    std::span<const float> x_FC, weights;  // views into the device's memory
  };

  /// `backend` must outlive it.
  explicit FeatureStaging(layers::Backend& backend) : backend_(backend) {}

  /// Allocates `bytes` on each side, half for each of the two buffers. Micro-batches that fit
  /// allocate nothing afterwards.
  void reserve(std::size_t bytes);

  /// True if a micro-batch has been sent and not taken yet.
  bool holds_one() const { return sent_ > taken_; }
  /// Calls `fill` to write a micro-batch into the host's memory and starts its copy to the device.
  /// Error if holds_one(). `computing` makes progress while this waits.
  void send(layers::Stream& computing, const Count& count, const Fill& fill);
  /// Returns the micro-batch that was sent. Work that is enqueued on `computing` until release()
  /// may read it.
  Arrival take(layers::Stream& computing);
  /// Lets another micro-batch overwrite the memory after the work that is enqueued on `computing`
  /// by now.
  void release(layers::Stream& computing);

 private:
  struct Turn {
    layers::Buffer host, device;
    Count count;
    std::unique_ptr<layers::Event> arrived, released;  // null before the first use
  };
  static void wait(layers::Stream& computing, const std::unique_ptr<layers::Event>& event);
  void replace(layers::Buffer& buffer, layers::Buffer larger);

  layers::Backend& backend_;
  std::unique_ptr<layers::Stream> copying_;  // created with the first micro-batch
  std::array<Turn, 2> turns_;
  std::vector<layers::Buffer> outgrown_;
  std::size_t sent_ = 0, taken_ = 0;
};

}  // namespace penstock::runtime
