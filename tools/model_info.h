#pragma once

#include <optional>
#include <string>

namespace penstock::tools {

struct ModelInfoOptions {
  std::string model;               // a name in configs/models/, or a TOML file
  std::optional<int> labels = {};  // blank included; nothing: labels_without_text()
  int utterances = 8;
  double seconds = 4;
  std::string precision = "fp32";
  bool recipe = false;  // of a checkpoint
  bool json = false;
};

/// Whether `path` names a model, and not a checkpoint or a file of weights: a TOML file, or a bare
/// name that is no file or folder.
[[nodiscard]] bool names_model(const std::string& path);

/// Prints the layers of a model: parameters, operations and bytes of one micro-batch. Returns the
/// exit code. ConfigError as load_config.
int print_model(const ModelInfoOptions& options);

}  // namespace penstock::tools
