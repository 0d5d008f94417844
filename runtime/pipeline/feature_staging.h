#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"

namespace penstock::runtime {

/// Features on their way to a device. The host writes them, a stream of their own copies them, and
/// the computing stream takes them from where they arrive. Two micro-batches take turns in memory
/// on both sides: one arrives while the device computes on the one before.
class FeatureStaging {
 public:
  using Fill = std::function<void(std::span<float> x_FC, std::span<float> weights)>;
  /// Numbers of a micro-batch.
  struct Count {
    std::size_t features = 0, weights = 0;
    std::size_t bytes() const { return (features + weights) * sizeof(float); }
  };
  struct Arrival {
    std::span<const float> x_FC, weights;  // in the device's memory
  };

  /// `backend` must outlive it.
  explicit FeatureStaging(layers::Backend& backend) : backend_(backend) {}

  /// Allocates so much of both sides' memory for both turns together, so that what fits in there
  /// allocates none.
  void reserve(std::size_t bytes);

  /// Whether a micro-batch has been sent that nobody has taken.
  bool holds_one() const { return sent_ > taken_; }
  /// Has `fill` write the host's memory, and sends that on its way. Not while it holds one.
  /// `computing` makes progress while this waits.
  void send(layers::Stream& computing, const Count& count, const Fill& fill);
  /// What was sent, for all that `computing` is asked for from now on, up to release().
  Arrival take(layers::Stream& computing);
  /// Behind what `computing` has been asked for, another micro-batch may lie there.
  void release(layers::Stream& computing);

 private:
  struct Turn {
    layers::Buffer host, device;
    Count count;
    std::unique_ptr<layers::Event> arrived, released;  // null before the first time
  };
  static void wait(layers::Stream& computing, const std::unique_ptr<layers::Event>& event);
  void replace(layers::Buffer& buffer, layers::Buffer larger);

  layers::Backend& backend_;
  std::unique_ptr<layers::Stream> copying_;  // made with the first micro-batch
  std::array<Turn, 2> turns_;
  std::vector<layers::Buffer> outgrown_;
  std::size_t sent_ = 0, taken_ = 0;
};

}  // namespace penstock::runtime
