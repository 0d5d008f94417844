#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/lane_reduction.h"
#include "layers/backend.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/arenas.h"

namespace penstock::runtime {

/// Interface of a step's collectives among the replicas of a stage, on any device. Lanes' gradients
/// are added in the order of LaneReduction, with the same bits, unless NCCL's own all-reduce adds
/// them.
class GradientReduction {
 public:
  virtual ~GradientReduction() = default;

  /// Starts adding a bucket. Its gradients are complete once the work enqueued on the stream by now
  /// is done.
  virtual void start(int bucket) = 0;
  virtual void progress() = 0;
  /// Work that is enqueued on the stream after this call sees the complete sums.
  virtual void finish() = 0;

  /// Sends each replica's own part of the arena, as the stream has left it, to all others. Work
  /// that is enqueued on the stream after this call sees the complete arena.
  virtual void gather(const SharedArena& arena) = 0;

  /// Bytes of the staging memory for other replicas' gradients.
  virtual std::size_t staging() const = 0;
};

/// Arguments of make_gradient_reduction(). Everything that they refer to must outlive the
/// reduction.
struct GradientReductionOptions {
  layers::Backend& backend;
  layers::Stream& stream;
  comm::Communicator& replicas;
  const comm::LaneReductionPlan& plan;
  std::vector<std::byte*> arenas;  // one per lane of this replica
  DeviceLinks links = DeviceLinks::host;
  ReductionOrder order = ReductionOrder::lanes;
};

/// Creates the reduction for the backend and the links. On a CPU it is a LaneReduction in the
/// host's memory. On a device, a single replica adds its lanes there. Several replicas exchange
/// lanes over NCCL or, without it, through the host. Collective: all replicas call this, with zeros
/// in the arenas.
[[nodiscard]] std::unique_ptr<GradientReduction> make_gradient_reduction(
    const GradientReductionOptions& options);

}  // namespace penstock::runtime
