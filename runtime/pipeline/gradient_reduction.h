#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/lane_reduction.h"
#include "layers/backend.h"
#include "runtime/pipeline/device_links.h"

namespace penstock {

/// Adds the lanes' gradients, over replicas too, wherever they lie: LaneReduction says what each
/// call means, and its bits are these.
class GradientReduction {
 public:
  virtual ~GradientReduction() = default;

  /// The bucket's gradients are whole for what the stream is asked for from now on.
  virtual void start(int bucket) = 0;
  virtual void progress() = 0;
  /// Behind this the sums are whole for what the stream is asked for.
  virtual void finish() = 0;

  /// Bytes that wait for other replicas' gradients.
  virtual std::size_t staging() const = 0;
};

/// In the host's memory a LaneReduction. On a device the lanes of a single replica are added there;
/// those of several by NCCL, or through the host, where the replicas' ranks exchange them. All
/// replicas call this. All arguments must outlive the result.
std::unique_ptr<GradientReduction> make_gradient_reduction(Backend& backend, Stream& stream,
                                                           Communicator& replicas,
                                                           const LaneReductionPlan& plan,
                                                           const std::vector<std::byte*>& arenas,
                                                           DeviceLinks links);

}  // namespace penstock
