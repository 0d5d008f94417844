#pragma once

#include <optional>
#include <vector>

#include "partition/cost/device_profile.h"
#include "runtime/profiling/profiling_data.h"

namespace penstock::runtime {

struct ProfileOptions {
  int micro_batches = 12;  // of each rank, at quantiles of an epoch's frames
  int repeats = 6;         // of all of them, after one that warms up
};

/// Profiles steps of the whole model on every rank's device, each on its own but all at the same
/// time, so that what they contend for is in the times. On CUDA rank 0 measures alone. Where the
/// model is larger than a device, or than pipeline.memory_gib, one with each kind of layer once is
/// measured in its place (each_kind_once()). Every rank makes one and calls the same. `data` and
/// `world` must outlive it.
class ProfileMeasurement {
 public:
  ProfileMeasurement(const ProfilingData& data, comm::Communicator& world,
                     const ProfileOptions& options);

  /// Measures; more than once to spread what is measured over other work. DeviceError where a
  /// device has no room for what is measured; else as ProfilingRun.
  void take();

  /// Costs fitted to the means of each rank's steps, since times add up, but for the fastest and
  /// the slowest quarter of those steps (rounded
  /// down). The same on every rank.
  partition::DeviceProfile profile() const;

 private:
  std::vector<double> means_of_ranks() const;
  /// What was measured of each kind of layer, to all of that kind.
  void spread(partition::DeviceProfile& profile) const;

  const ProfilingData& measured() const { return fewer_ ? *fewer_ : data_; }

  const ProfilingData& data_;
  std::optional<ProfilingData> fewer_;  // in its place
  std::vector<int> like_;               // as EachKindOnce
  comm::Communicator& world_;
  ProfileOptions options_;
  std::vector<std::vector<MicroBatch>> batches_;  // of each rank that measures
  std::vector<std::vector<double>> steps_;        // this rank's, a row of numbers each
};

/// Takes a measurement once.
partition::DeviceProfile measure_profile(const ProfilingData& data, comm::Communicator& world,
                                         const ProfileOptions& options);

/// Bytes and transfers of the layers for the profile's middling micro-batch: the neutral form.
partition::SequenceProfile neutral_profile(const partition::DeviceProfile& profile,
                                           const partition::LayerSequence& sequence,
                                           const layers::BackendSizes& sizes);

/// Lengths of a micro-batch of the data.
partition::MicroBatchLengths lengths_of(const MicroBatch& batch, const Corpus& corpus);

}  // namespace penstock::runtime
