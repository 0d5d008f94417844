#pragma once

#include "partition/device_profile.h"
#include "runtime/trainer/rehearsal_data.h"

namespace penstock {

struct ProfileOptions {
  int micro_batches = 12;  // of each rank, at quantiles of an epoch's frames
  int repeats = 5;         // of all of them, after one that warms up
};

/// Rehearses steps of the whole model on every rank's device, each on its own but all at the same
/// time, so that what they contend for is in the times, and fits costs to the medians of all ranks.
/// On CUDA rank 0 measures alone. The same on every rank. DeviceError where a device has no room
/// for the whole model; else as Rehearsal.
DeviceProfile measure_profile(const RehearsalData& data, Communicator& world,
                              const ProfileOptions& options);

/// Bytes and transfers of the layers for the profile's middling micro-batch: the neutral form.
ChainProfile neutral_profile(const DeviceProfile& profile, const Chain& chain,
                             const BackendSizes& sizes);

/// Lengths of a micro-batch of the data.
MicroBatchLengths lengths_of(const MicroBatch& batch, const Corpus& corpus);

}  // namespace penstock
