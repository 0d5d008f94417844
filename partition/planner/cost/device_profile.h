#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "partition/planner/cost/fitted_costs.h"
#include "partition/planner/cost/profile.h"

namespace penstock::partition {

/// A DeviceProfile holds the measured costs of a model on a device, as `penstock profile` writes
/// them.
struct DeviceProfile {
  std::string model;             // result of model_summary()
  std::string device;            // description of the device
  std::string compute = "fp32";  // a value of precision.compute
  int ranks = 1;                 // number of ranks that measured at the same time
  int threads = 1;               // threads of each rank, on the CPU
  std::vector<FittedLayer> layers;
  /// Seconds of a micro-batch's first forward outside the layers, such as waiting for features.
  FittedCost reading;
  /// Seconds once per step: gradient norm, optimizer, and all other work that is not per
  /// micro-batch.
  double step_s = 0;
  double parameter_s = 0;  // seconds per step for each parameter that the rank trains

  /// The micro-batch of middling size whose times the neutral form holds.
  MicroBatchLengths middling;
};

/// ProfiledModel is the model for which a profile must have been measured.
struct ProfiledModel {
  std::string model, compute;       // as in DeviceProfile
  std::vector<std::string> layers;  // names, in the order of the layer sequence
};

/// Throws ConfigError, which names the differences, if the profile is for another model.
void check_profile(const DeviceProfile& profile, const ProfiledModel& asked);

/// Returns the costs of the layers of `sequence` as they are trained, without the gradients of
/// frozen ones. The profile must be for these layers. Throws ConfigError, which names the layers,
/// if some are trained but were frozen when they were measured.
[[nodiscard]] std::vector<FittedLayer> trained_costs(const DeviceProfile& profile,
                                                     const LayerSequence& sequence);

/// Formats a profile as JSON. It has the neutral form of a measured layer sequence (see
/// parse_profile()) with the times of the middling micro-batch, and all fields of `profile`.
/// `neutral` supplies the bytes and transfers of each layer.
[[nodiscard]] std::string device_profile_json(const DeviceProfile& profile,
                                              const SequenceProfile& neutral);

/// Parses such a profile. Throws ConfigError, which names the file and the layer and field of each
/// fault. A neutral profile without fitted costs is a fault too.
DeviceProfile parse_device_profile(const std::string& text, const std::string& name);
DeviceProfile read_device_profile(const std::filesystem::path& file);

}  // namespace penstock::partition
