#pragma once

#include <optional>
#include <string>

namespace penstock::tools {

struct ModelInfoOptions {
  std::string model;               // a name in configs/models/, or a TOML file
  std::optional<int> labels = {};  // blank included; empty: labels_without_text()
  int utterances = 8;
  double seconds = 4;
  std::string precision = "fp32";
  bool recipe = false;  // for a checkpoint
  bool json = false;
};

/// Returns true if `path` names a model rather than a checkpoint or a file of weights: it is a TOML
/// file, or a bare name that is no file or folder.
[[nodiscard]] bool names_model(const std::string& path);

/// Prints the layers of a model: parameters, operations and bytes of one micro-batch. Returns the
/// exit code. ConfigError as load_config.
int print_model(const ModelInfoOptions& options);

}  // namespace penstock::tools
