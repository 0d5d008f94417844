#pragma once

#include <filesystem>
#include <string>

#include "runtime/checkpoint/passthrough_parts.h"

namespace penstock::runtime {

// This file knows the files of a Hugging Face folder: their names, how to read them, and which
// define labels.

// Names of files in a folder of transformers.
inline constexpr const char* kModelConfig = "config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndex = "model.safetensors.index.json";
inline constexpr const char* kPreprocessorConfig = "preprocessor_config.json";
inline constexpr const char* kProcessorConfig = "processor_config.json";
inline constexpr const char* kGenerationConfig = "generation_config.json";
/// Prefix of the features' paths.
inline constexpr const char* kWithinProcessor = "feature_extractor.";
inline constexpr const char* kVocabulary = "vocab.json";
inline constexpr const char* kAddedTokens = "added_tokens.json";
inline constexpr const char* kTokenizerConfig = "tokenizer_config.json";
inline constexpr const char* kTokenizer = "tokenizer.json";
inline constexpr const char* kMerges = "merges.txt";

/// Returns the name of the MMS file with the adapters and the head of one language.
inline std::string language_file_name(const std::string& language) {
  return "adapter." + language + ".safetensors";
}

/// Files that an import copies into the checkpoint if they exist, and an export writes again.
inline constexpr const char* kKeptFiles[] = {
    kModelConfig,      kPreprocessorConfig,   kProcessorConfig,  kVocabulary,
    kAddedTokens,      kTokenizerConfig,      kTokenizer,        kMerges,
    kGenerationConfig, "chat_template.jinja", "normalizer.json", "special_tokens_map.json"};

/// The folder within a checkpoint that holds these files.
inline constexpr const char* kKeptFolder = "huggingface";

/// Returns the text of a file in a Hugging Face folder. Throws FileError if it is missing or can't
/// be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file);

/// Returns the text of a JSON file there. Also throws CheckpointError if its values nest too deeply
/// to be used.
[[nodiscard]] std::string json_text_of_file(const std::filesystem::path& file);

/// True if a file or folder of that name exists. Throws CheckpointError if that can't be
/// determined.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// Removes the files that define labels from the kept parts of an imported model, for a model with
/// other labels.
[[nodiscard]] PassthroughParts without_labels(PassthroughParts kept);

/// True if a kept file defines the labels.
[[nodiscard]] bool says_labels(const std::string& file);

/// True if a checkpoint has files of an imported model that define its labels.
[[nodiscard]] bool keeps_labels(const Checkpoint& checkpoint);

}  // namespace penstock::runtime
