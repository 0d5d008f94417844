#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::runtime {

// Names of the files of an adapter, as save_pretrained() of PEFT writes them.
inline constexpr const char* kAdapterConfig = "adapter_config.json";
inline constexpr const char* kAdapterWeights = "adapter_model.safetensors";

/// The prefix of the names of an adapter's tensors.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// Values of modules that differ from the adapter's, in the file's order. A pattern is a module's
/// name, or the end of it after a dot.
template <class Value>
using ByModule = std::vector<std::pair<std::string, Value>>;

/// The settings of a LoRA adapter of PEFT.
struct PeftConfig {
  std::int64_t rank = 8;              // r
  double alpha = 8;                   // lora_alpha
  double dropout = 0;                 // lora_dropout
  bool rank_stabilised = false;       // use_rslora: alpha is divided by the root of the rank
  ByModule<std::int64_t> ranks = {};  // rank_pattern
  ByModule<double> alphas = {};       // alpha_pattern
  /// target_modules that all have an adapter: ends of modules' names. Empty if the file chooses
  /// among them further, or gives a regular expression.
  std::vector<std::string> targets = {};
  std::vector<std::string> saved = {};  // modules_to_save
  std::string base_class = {};    // class of the base in transformers; empty if it is not named
  std::string base_library = {};  // module of Python that defines it
  std::string base = {};          // base_model_name_or_path
};

/// Reads an adapter_config.json. Throws CheckpointError that lists all settings that penstock does
/// not support, with the supported values: kinds of adapters other than LoRA, variants such as
/// DoRA, trained biases, initial values that change the base, and regular expressions in
/// rank_pattern and alpha_pattern.
[[nodiscard]] PeftConfig read_peft_config(const std::filesystem::path& file);

/// Returns an adapter_config.json, which PEFT loads as the settings of a trained adapter.
[[nodiscard]] std::string to_json_text(const PeftConfig& config);

/// True if a module's name is `pattern`, or ends with it after a dot. As in the regular expressions
/// of PEFT, a leading "^" demands the whole name, "." stands for any character and "\." for a dot.
[[nodiscard]] bool matches_module(std::string_view pattern, std::string_view module);

/// Returns the rank of a module's adapter, and the factor of its B · A.
[[nodiscard]] std::int64_t rank_of(const PeftConfig& config, std::string_view module);
[[nodiscard]] double scale_of(const PeftConfig& config, std::string_view module);

}  // namespace penstock::runtime
