#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/lane_reduction.h"
#include "layers/backend.h"
#include "runtime/devices/device_links.h"
#include "runtime/pipeline/shared_arena.h"

namespace penstock::runtime {

/// What replicas exchange in a step, wherever it lies. The lanes' gradients are added as
/// LaneReduction says, call by call and bit for bit, unless NCCL adds them in an order of its own.
class GradientReduction {
 public:
  virtual ~GradientReduction() = default;

  /// The bucket's gradients are whole for what the stream is asked for from now on.
  virtual void start(int bucket) = 0;
  virtual void progress() = 0;
  /// Behind this the sums are whole for what the stream is asked for.
  virtual void finish() = 0;

  /// Each replica's own part of the arena goes to all others, as the stream has left it; behind
  /// this the arena is whole for what the stream is asked for.
  virtual void gather(const SharedArena& arena) = 0;

  /// Bytes that wait for other replicas' gradients.
  virtual std::size_t staging() const = 0;
};

/// What is added, between whom. What it refers to must outlive the reduction.
struct GradientReductionOptions {
  layers::Backend& backend;
  layers::Stream& stream;
  comm::Communicator& replicas;
  const comm::LaneReductionPlan& plan;
  std::vector<std::byte*> arenas;  // of this replica's lanes
  DeviceLinks links = DeviceLinks::host;
  ReductionOrder order = ReductionOrder::lanes;
};

/// In the host's memory a LaneReduction. On a device the lanes of a single replica are added there;
/// those of several over NCCL, or through the host, where the replicas' ranks exchange them. All
/// replicas call this, with zeros in the arenas.
[[nodiscard]] std::unique_ptr<GradientReduction> make_gradient_reduction(
    const GradientReductionOptions& options);

}  // namespace penstock::runtime
