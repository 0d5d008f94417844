#pragma once

#include <string>

namespace penstock::runtime {

// Names of files in a folder of transformers.
inline constexpr const char* kModelConfig = "config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndex = "model.safetensors.index.json";
inline constexpr const char* kPreprocessorConfig = "preprocessor_config.json";
inline constexpr const char* kProcessorConfig = "processor_config.json";
/// Prefix of the features' paths.
inline constexpr const char* kWithinProcessor = "feature_extractor.";
inline constexpr const char* kVocabulary = "vocab.json";
inline constexpr const char* kAddedTokens = "added_tokens.json";
inline constexpr const char* kTokenizerConfig = "tokenizer_config.json";
inline constexpr const char* kTokenizer = "tokenizer.json";

/// Returns the name of the MMS file with the adapters and the head of one language.
inline std::string language_file_name(const std::string& language) {
  return "adapter." + language + ".safetensors";
}

/// Files that an import copies into the checkpoint if they exist, and an export writes again.
inline constexpr const char* kKeptFiles[] = {kModelConfig,
                                             kPreprocessorConfig,
                                             kProcessorConfig,
                                             kVocabulary,
                                             kAddedTokens,
                                             kTokenizerConfig,
                                             kTokenizer,
                                             "special_tokens_map.json",
                                             "generation_config.json"};

/// The folder within a checkpoint that holds these files.
inline constexpr const char* kKeptFolder = "huggingface";

}  // namespace penstock::runtime
