#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::partition {

/// A LayerProfile holds the costs of one layer of a measured layer sequence, for one micro-batch on
/// a device of speed 1.
struct LayerProfile {
  std::string name;
  double forward_ms = 0;
  double backward_ms = 0;       // input and weight gradients, half each
  double activation_bytes = 0;  // the output, kept until the layer's backward
  double parameter_bytes = 0;
  /// Time to send the output to another stage, used if no cluster gives links.
  double transfer_ms = 0;
};

/// A layer sequence that was measured here or elsewhere.
struct SequenceProfile {
  std::string name;
  std::vector<LayerProfile> layers;
};

/// Parses the neutral form: a JSON object with `name` and `layers`, where each layer has all of the
/// fields above. Other members, such as `source` or `optimal_bottleneck_ms`, are ignored. `name` is
/// the text's name in messages. Throws ConfigError, which lists every fault with file, layer and
/// field.
SequenceProfile parse_profile(const std::string& text, const std::string& name);

/// Reads a profile from a file. Also throws ConfigError if the file cannot be read.
SequenceProfile read_profile(const std::filesystem::path& file);

}  // namespace penstock::partition
