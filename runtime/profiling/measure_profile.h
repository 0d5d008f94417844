#pragma once

#include <optional>
#include <vector>

#include "partition/planner/cost/device_profile.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

struct ProfileOptions {
  int micro_batches = 12;  // per rank, at quantiles of an epoch's frames
  int repeats = 6;         // repetitions of all of them, after one warm-up
};

/// Profiles steps of the whole model on every rank's device. Ranks work independently but at the
/// same time, so that the times include contention for shared resources. On CUDA only rank 0
/// measures. If the model is larger than a device or than pipeline.memory_gib, a model with each
/// kind of layer once is measured instead (each_kind_once()). All ranks create one and make the
/// same calls. `data` and `world` must outlive it.
class ProfileMeasurement {
 public:
  ProfileMeasurement(const ProfilingData& data, comm::Communicator& world,
                     const ProfileOptions& options);

  /// Takes measurements. It may be called repeatedly, to spread them over other work. Throws
  /// DeviceError if they do not fit on a device, and otherwise like ProfilingRun.
  void take();

  /// Returns costs fitted to each rank's mean step. Means are taken because times add up; the
  /// fastest and the slowest quarter of the steps (rounded down) are left out. The same on every
  /// rank. All ranks call this together.
  partition::DeviceProfile profile() const;

 private:
  std::vector<double> means_of_ranks() const;
  /// Assigns the costs of each kind of layer to all layers of that kind.
  void spread(partition::DeviceProfile& profile) const;

  const ProfilingData& measured() const { return fewer_ ? *fewer_ : data_; }

  const ProfilingData& data_;
  std::optional<ProfilingData> fewer_;  // measured instead of data_
  std::vector<int> like_;               // as in EachKindOnce
  comm::Communicator& world_;
  ProfileOptions options_;
  std::vector<std::vector<MicroBatch>> batches_;  // [rank], for ranks that measure
  std::vector<std::vector<double>> steps_;  // measured on this rank, one row of numbers per step
};

/// Takes one measurement and returns its profile.
partition::DeviceProfile measure_profile(const ProfilingData& data, comm::Communicator& world,
                                         const ProfileOptions& options);

/// Returns the neutral profile: bytes and transfers of the layers for the middling micro-batch.
partition::SequenceProfile neutral_profile(const partition::DeviceProfile& profile,
                                           const partition::LayerSequence& sequence,
                                           const layers::BackendSizes& sizes);

/// Returns the lengths of a micro-batch of the data.
partition::MicroBatchLengths lengths_of(const MicroBatch& batch, const Corpus& corpus);

}  // namespace penstock::runtime
