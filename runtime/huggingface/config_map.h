#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// The settings of a folder, without weights and vocabulary.
struct FolderSettings {
  std::filesystem::path folder;
  Settings config;    // config.json
  Settings features;  // preprocessor_config.json, or its replacement
  std::filesystem::path config_file, features_file;
};

/// Reads the model's settings of a folder. Throws CheckpointError if the file is missing or can't
/// be read.
[[nodiscard]] FolderSettings read_folder(const std::filesystem::path& folder);

/// Reads the feature extractor's settings as well. A folder of an architecture that penstock does
/// not support may lack them, so its architecture is examined before. Throws as read_folder() does.
void read_features(FolderSettings& settings);

/// Returns the feature extractor's settings in a processor_config.json. Their paths in that file
/// begin with kWithinProcessor.
[[nodiscard]] Settings settings_within_processor(const std::filesystem::path& file);

/// Returns penstock's configuration of this model. Throws CheckpointError that lists every setting
/// that penstock's models do not support, with the supported value, and every invalid value.
[[nodiscard]] configs::Config config_of(const Architecture& architecture,
                                        const FolderSettings& settings,
                                        const configs::TextConfig& text);

/// Lists the settings that a config.json lacks and that may decide which tensors a model has, or
/// their shapes, with the values that were taken instead: "hidden_size, so 1024 was taken".
[[nodiscard]] std::vector<std::string> assumed_sizes(const Architecture& architecture,
                                                     const Settings& settings);

/// Counts the keys whose values differ from those that the architecture fixes.
[[nodiscard]] std::size_t count_differences(const Architecture& architecture,
                                            const configs::Config& config);

/// Throws ConfigError that names every key whose value differs from the one that the architecture
/// fixes.
void check_fixed(const Architecture& architecture, const configs::Config& config);

/// Returns the config.json for a configuration that check_fixed() accepts. The head has `rows`
/// rows, and the blank is row `blank`.
[[nodiscard]] Settings model_settings(const Architecture& architecture,
                                      const configs::Config& config, std::int64_t rows,
                                      std::int64_t blank);
/// Returns the settings of config.json that name rows of a head with new labels.
[[nodiscard]] Settings label_settings(const Architecture& architecture,
                                      const configs::Config& config, std::int64_t rows,
                                      std::int64_t blank);
/// Returns the generation_config.json for such a model. It is empty for CTC, which needs none: a
/// transducer of transformers starts with the blank, and its durations are no tokens.
[[nodiscard]] Settings generation_settings(const Architecture& architecture,
                                           const configs::Config& config, std::int64_t rows,
                                           std::int64_t blank);
/// Returns the preprocessor_config.json for such a configuration.
[[nodiscard]] Settings feature_settings(const Architecture& architecture,
                                        const configs::Config& config);

/// Returns the settings of an imported model that the configuration changes, with the new values.
/// feature_changes() does so for the feature extractor, and generation_changes() for
/// generation_config.json.
[[nodiscard]] Settings model_changes(const Architecture& architecture,
                                     const configs::Config& config, const Settings& theirs);
[[nodiscard]] Settings feature_changes(const Architecture& architecture,
                                       const configs::Config& config, const Settings& theirs);

[[nodiscard]] Settings generation_changes(const Architecture& architecture,
                                          const configs::Config& config, const Settings& theirs);

/// Returns the row of the blank that a config.json names, or the one that it has by default. Throws
/// CheckpointError as whole_setting() does.
[[nodiscard]] std::int64_t blank_row(const Architecture& architecture, const Settings& settings,
                                     const std::filesystem::path& file);

/// Returns a setting that is a whole number; `absent` is its JSON if it is missing. Throws
/// CheckpointError if it is not a whole number.
[[nodiscard]] std::int64_t whole_setting(const Settings& settings, std::string_view name,
                                         std::string_view absent,
                                         const std::filesystem::path& file);

}  // namespace penstock::runtime
