#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "partition/cost/fitted_costs.h"
#include "partition/cost/profile.h"

namespace penstock::partition {

/// What a device was measured to take for a model: what `penstock profile` writes.
struct DeviceProfile {
  std::string model;             // model_summary()
  std::string device;            // its description
  std::string compute = "fp32";  // as precision.compute
  int ranks = 1;                 // that measured at the same time
  int threads = 1;               // of each, on the CPU
  std::vector<FittedLayer> layers;
  FittedCost reading;  // of a micro-batch: seconds of its first forward beside the layers
  /// Once a step: norm, optimizer and whatever else is not of a micro-batch.
  double step_s = 0;
  double parameter_s = 0;  // and for each parameter that the rank trains

  /// Of the layers' times in the neutral form: a micro-batch of middling size.
  MicroBatchLengths middling;
};

/// What a profile must be of to estimate steps of a model.
struct ProfiledModel {
  std::string model, compute;       // as DeviceProfile
  std::vector<std::string> layers;  // names, in the layer sequence's order
};

/// ConfigError, which says what differs, unless the profile is of that.
void check_profile(const DeviceProfile& profile, const ProfiledModel& asked);

/// What the layers of `sequence`, which the profile must be of, take as they are trained: without
/// the gradients of frozen ones. ConfigError names those that it trains, but that were frozen when
/// they were measured.
[[nodiscard]] std::vector<FittedLayer> trained_costs(const DeviceProfile& profile,
                                                     const LayerSequence& sequence);

/// JSON: the neutral form of a measured layer sequence (see parse_profile), whose times are those
/// of the middling micro-batch, and beside it everything of `profile`. `neutral` gives bytes and
/// transfers of each layer.
[[nodiscard]] std::string device_profile_json(const DeviceProfile& profile,
                                              const SequenceProfile& neutral);

/// Reads it again. ConfigError names the file and each fault's layer and field, and where the
/// profile is a neutral one without fitted costs.
DeviceProfile parse_device_profile(const std::string& text, const std::string& name);
DeviceProfile read_device_profile(const std::filesystem::path& file);

}  // namespace penstock::partition
