#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// What a folder says of its model besides weights and vocabulary.
struct FolderSettings {
  std::filesystem::path folder;
  Settings config;    // config.json
  Settings features;  // preprocessor_config.json, or what stands for it
  std::filesystem::path config_file, features_file;
};

/// Reads them. CheckpointError if one is missing or can't be read.
[[nodiscard]] FolderSettings read_folder(const std::filesystem::path& folder);

/// The feature extractor's of a processor_config.json, where kWithinProcessor begins their paths.
[[nodiscard]] Settings settings_within_processor(const std::filesystem::path& file);

/// penstock's configuration of such a model. CheckpointError lists every setting that its models do
/// not have, with what they have, and every value that can't be.
[[nodiscard]] configs::Config config_of(const Architecture& architecture,
                                        const FolderSettings& settings,
                                        const configs::TextConfig& text);

/// Keys with another value than the one that the architecture fixes.
[[nodiscard]] std::size_t count_differences(const Architecture& architecture,
                                            const configs::Config& config);

/// ConfigError names every key with another value than the one that the architecture fixes.
void check_fixed(const Architecture& architecture, const configs::Config& config);

/// The other way, for a configuration that check_fixed() takes: config.json for a head of so many
/// rows with the blank's at `blank`.
[[nodiscard]] Settings model_settings(const Architecture& architecture,
                                      const configs::Config& config, std::int64_t rows,
                                      std::int64_t blank);
/// And preprocessor_config.json.
[[nodiscard]] Settings feature_settings(const Architecture& architecture,
                                        const configs::Config& config);

/// What a configuration says otherwise than the settings of an imported model do.
[[nodiscard]] Settings model_changes(const Architecture& architecture,
                                     const configs::Config& config, const Settings& theirs);
[[nodiscard]] Settings feature_changes(const Architecture& architecture,
                                       const configs::Config& config, const Settings& theirs);

/// A whole number of settings; `absent` is its JSON where they do not name it. CheckpointError if
/// it is none.
[[nodiscard]] std::int64_t whole_setting(const Settings& settings, std::string_view name,
                                         std::string_view absent,
                                         const std::filesystem::path& file);

}  // namespace penstock::runtime
