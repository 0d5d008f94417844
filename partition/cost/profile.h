#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::partition {

/// What one layer of a measured layer sequence takes, for one micro-batch on a device of speed 1.
struct LayerProfile {
  std::string name;
  double forward_ms = 0;
  double backward_ms = 0;       // gradients of input and of weights, half each
  double activation_bytes = 0;  // that leave it, and stay until its backward
  double parameter_bytes = 0;
  double transfer_ms = 0;  // of what leaves it to another stage, where no cluster gives links
};

/// A layer sequence measured here or elsewhere.
struct SequenceProfile {
  std::string name;
  std::vector<LayerProfile> layers;
};

/// Reads the neutral form: a JSON object with `name` and `layers`, each with all of the fields
/// above; other members, as `source` or `optimal_bottleneck_ms`, are let be. `name` stands for the
/// text in messages. ConfigError lists every fault with file, layer and field.
SequenceProfile parse_profile(const std::string& text, const std::string& name);

/// The same from a file. ConfigError if it can't be read.
SequenceProfile read_profile(const std::filesystem::path& file);

}  // namespace penstock::partition
