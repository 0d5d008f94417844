#include "runtime/huggingface/config_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/rules.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/data/audio/features.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/suppressed_tokens.h"

// The same rows of an architecture's tables are read in both directions, so an export undoes an
// import. To import, a setting becomes a key in the text form of configs::flatten(), whatever its
// type; to export, the key's text becomes JSON again. Settings that penstock has one value for are
// only compared, as JSON, so that 1e-5 and 0.00001 are equal.
//
// Faults are collected over all settings and files. After a fault the setting's default stands in,
// so that later settings which depend on it don't fail as well. Keys are set before the rules
// between them are checked, and a contradiction names the setting of transformers from which its
// key came.
//
// An imported model that is exported again changes as little as possible: model_changes() and
// feature_changes() yield only settings whose values differ from what the folder says.

// Some rows, with the values on both sides:
//
//   hidden_size         1024               model.width       1024
//   hop_length          160, of samples    features.hop_ms   10, at 16 kHz   Form::milliseconds
//   conv_dim            [512, 512, 512]    model.channels    512             Form::equal_list
//   adapter_attn_dim    null               model.adapter     0               Form::or_null

namespace penstock::runtime {
namespace {

std::string_view value_of(const Settings& settings, std::string_view name,
                          std::string_view absent) {
  const auto found = settings.find(name);
  return found == settings.end() ? absent : std::string_view(found->second);
}

/// Returns the value of a mapped setting, under its name or an earlier one.
std::string_view value_of(const Settings& settings, const MappedSetting& taken) {
  const std::string_view absent =
      taken.formerly.empty() ? taken.absent : value_of(settings, taken.formerly, taken.absent);
  return value_of(settings, taken.theirs, absent);
}

double number_of(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the JSON of a derived setting.
std::string as_setting(const DerivedSetting& derived, const configs::FlatConfig& keys) {
  const double of = number_of(keys.at(std::string(derived.of)));
  return fmt::format("{}",
                     derived.per.empty() ? of : of / number_of(keys.at(std::string(derived.per))));
}

/// Converts the settings of a file to keys and collects faults.
class Taker {
 public:
  Taker(configs::FlatConfig& keys, std::vector<std::string>& faults)
      : keys_(keys), faults_(faults) {}

  void check(const std::vector<RequiredSetting>& wanted, const Settings& settings,
             const std::string& file) {
    for (const RequiredSetting& one : wanted) {
      if (holds_object(settings, one.theirs)) {
        faults_.push_back(fmt::format("{}: {} is an object, but penstock's models have {}{}{}",
                                      file, one.theirs, one.value, one.remedy.empty() ? "" : ". ",
                                      one.remedy));
        continue;
      }
      const std::string_view value = value_of(settings, one.theirs, one.absent);
      const bool same = !one.same_as.empty() && same_json(value, one.same_as);
      if (!same && !same_json(value, one.value))
        faults_.push_back(fmt::format("{}: {} is {}, but penstock's models have {}{}{}", file,
                                      one.theirs, value, one.value, one.remedy.empty() ? "" : ". ",
                                      one.remedy));
    }
  }

  void take(const std::vector<MappedSetting>& taken, const Settings& settings,
            const std::string& file) {
    for (const MappedSetting& one : taken) {
      const std::string_view value = value_of(settings, one);
      const std::string fault = fault_of(one, value, settings);
      if (!fault.empty()) faults_.push_back(fmt::format("{}: {}", file, fault));
      const std::string key = as_key(one, fault.empty() ? value : one.absent, file);
      keys_[std::string(one.ours)] = key;
      if (!one.also.empty()) keys_[std::string(one.also)] = key;
    }
  }

  /// Compares settings with the keys that were taken.
  void check(const std::vector<DerivedSetting>& derived, const Settings& settings,
             const std::string& file) {
    for (const DerivedSetting& one : derived) {
      const std::string_view value = value_of(settings, one.theirs, "null");
      const std::string expected = as_setting(one, keys_);
      if (value != "null" && !same_json(value, expected))
        faults_.push_back(fmt::format("{}: {} is {}, but penstock's models have {}{}{}", file,
                                      one.theirs, value, expected, one.remedy.empty() ? "" : ". ",
                                      one.remedy));
    }
  }

 private:
  static bool holds_object(const Settings& settings, std::string_view name) {
    const std::string within = fmt::format("{}.", name);
    const auto found = settings.lower_bound(within);
    return found != settings.end() && found->first.starts_with(within);
  }

  /// Describes the problem with a setting; "" if there is none. A setting must be of the kind of
  /// its default, must not be an object, and must lie within an object.
  static std::string fault_of(const MappedSetting& taken, std::string_view value,
                              const Settings& settings) {
    const std::string name(taken.theirs), holder = name.substr(0, name.find('.'));
    if (const auto found = settings.find(holder); holder != name && found != settings.end())
      return fmt::format("{} is {}, but it must be an object", holder, found->second);
    if (holds_object(settings, name))
      return fmt::format("{} is an object, but it must be as {}", name, taken.absent);
    if (taken.form == Form::or_null && value == "null") return "";
    if (taken.form == Form::from_zero && (value == "0" || is_list_from_zero(value))) return "";
    const std::string_view kind =
        kind_missed(value, taken.form == Form::or_null ? "1" : taken.absent);
    if (!kind.empty()) return fmt::format("{} is {}, but it must be {}", name, value, kind);
    if (taken.accepted.empty() || std::ranges::count(taken.accepted, plain_text(value)) > 0)
      return "";
    return fmt::format("{} is {}, but penstock's models have {}", name, value,
                       fmt::join(taken.accepted, " or "));
  }

  static bool is_list_from_zero(std::string_view value) {
    const std::vector<std::string> items = items_of_json_list(value);
    return !items.empty() && std::ranges::all_of(items, [](const std::string& item) {
      return item == "0" || kind_missed(item, "1").empty();
    });
  }

  std::string as_key(const MappedSetting& taken, std::string_view value, const std::string& file) {
    if (taken.form == Form::milliseconds)
      return fmt::format("{}", number_of(value) * 1000 / number_of(keys_["features.sample_rate"]));
    if (taken.form == Form::or_null && value == "null") return "0";
    if (taken.form != Form::equal_list) return plain_text(value);
    const std::vector<std::string> numbers = items_of_json_list(value);
    if (numbers.empty() || std::ranges::count(numbers, numbers.front()) !=
                               static_cast<std::ptrdiff_t>(numbers.size())) {
      faults_.push_back(fmt::format("{}: {} is {}, but penstock's models have one number for all",
                                    file, taken.theirs, value));
      return plain_text(taken.absent);
    }
    if (const std::string& kernels = keys_.at("model.kernels");
        items_of_json_list(kernels).size() != numbers.size())
      faults_.push_back(fmt::format("{}: {} is {}, but there are convolutions for each of {}", file,
                                    taken.theirs, value, kernels));
    return numbers.front();
  }

  configs::FlatConfig& keys_;
  std::vector<std::string>& faults_;
};

[[noreturn]] void throw_unlike(const std::filesystem::path& folder,
                               const Architecture& architecture,
                               const std::vector<std::string>& faults) {
  throw CheckpointError(fmt::format("{}: this {} can't be imported:\n  {}", folder.string(),
                                    architecture.name, fmt::join(faults, "\n  ")));
}

/// Adds a line for each setting that config.json lacks, since its absence may be the cause.
void add_assumed(const Architecture& architecture, const FolderSettings& settings,
                 std::vector<std::string>& faults) {
  for (const std::string& one : assumed_sizes(architecture, settings.config))
    faults.push_back(fmt::format("{} lacks {}", kModelConfig, one));
}

/// Returns the file and the setting from which a key came.
std::string source_of(const Architecture& architecture, std::string_view key) {
  for (const MappedSetting& taken : architecture.model)
    if (taken.ours == key) return fmt::format("{}: {}", kModelConfig, taken.theirs);
  for (const MappedSetting& taken : architecture.features)
    if (taken.ours == key) return fmt::format("{}: {}", kPreprocessorConfig, taken.theirs);
  return std::string(key);
}

std::string as_setting(const MappedSetting& taken, const configs::FlatConfig& keys) {
  const auto found = keys.find(std::string(taken.ours));
  if (found == keys.end()) return std::string(taken.absent);
  const std::string& value = found->second;
  if (taken.form == Form::milliseconds)
    return fmt::format(
        "{}", std::llround(number_of(value) / 1000 * number_of(keys.at("features.sample_rate"))));
  if (taken.form == Form::or_null && value == "0") return "null";
  if (taken.form == Form::plain || taken.form == Form::or_null || taken.form == Form::from_zero)
    return value;
  if (taken.form == Form::text) return quoted_json(value);
  const std::size_t count = items_of_json_list(keys.at("model.kernels")).size();
  return fmt::format("[{}]", fmt::join(std::vector<std::string>(count, value), ","));
}

Settings settings_of(const std::vector<MappedSetting>& taken,
                     const std::vector<RequiredSetting>& wanted, const configs::FlatConfig& keys) {
  Settings settings;
  for (const MappedSetting& one : taken) settings.emplace(one.theirs, as_setting(one, keys));
  for (const RequiredSetting& one : wanted) settings.emplace(one.theirs, one.value);
  return settings;
}

Settings changes_of(const std::vector<MappedSetting>& taken, const configs::FlatConfig& keys,
                    const Settings& theirs) {
  Settings changes;
  for (const MappedSetting& one : taken)
    if (const std::string ours = as_setting(one, keys); !same_json(value_of(theirs, one), ours))
      changes.emplace(one.theirs, ours);
  return changes;
}

/// Returns the keys by name. A 0 that stands for a number is replaced by it.
configs::FlatConfig resolved_keys(const Architecture& architecture, const configs::Config& config) {
  configs::FlatConfig keys = configs::flatten(config);
  for (const Multiple& multiple : architecture.multiples) {
    std::string& value = keys.at(std::string(multiple.ours));
    if (value != "0") continue;
    const double per = multiple.per.empty() ? 1 : number_of(keys.at(std::string(multiple.per)));
    value = fmt::format("{}", multiple.times * number_of(keys.at(std::string(multiple.of))) / per);
  }
  keys.at("features.fft") = fmt::format("{}", frame_geometry(config.features).fft);
  return keys;
}

/// Lists the keys whose values differ from those that the architecture fixes, and those that it
/// takes from one setting but that differ.
std::vector<std::string> fixed_faults(const Architecture& architecture,
                                      const configs::Config& config) {
  const configs::FlatConfig keys = resolved_keys(architecture, config);
  std::vector<std::string> faults;
  for (const FixedKey& fixed : architecture.fixed) {
    const std::string& value = keys.at(std::string(fixed.ours));
    if (!fixed.training_only && value != fixed.value)
      faults.push_back(
          fmt::format("{} = {}, but the checkpoint has {}", fixed.ours, fixed.value, value));
  }
  for (const MappedSetting& one : architecture.model) {
    if (one.also.empty()) continue;
    const std::string &value = keys.at(std::string(one.ours)),
                      &other = keys.at(std::string(one.also));
    if (other != value)
      faults.push_back(fmt::format("{} = {}, but the checkpoint has {}", one.also, value, other));
  }
  return faults;
}

// Padding counts in no text and in no loss, so it need not be a token of its own.
std::int64_t padding_row(const Architecture& architecture, const configs::Config& config,
                         std::int64_t blank) {
  return architecture.writes_texts() ? config.model.networks.eos : blank;
}

/// Returns the settings that name the tokens at the ends of an attention decoder's texts, whose
/// labels are rows as they are.
Settings settings_of_ends(const configs::Config& config) {
  const layers::DecoderOptions& decoder = config.model.networks;
  const int first = decoder.prompt.empty() ? decoder.bos : decoder.prompt.front();
  return {{"bos_token_id", fmt::format("{}", decoder.bos)},
          {"decoder_start_token_id", fmt::format("{}", first)},
          {"eos_token_id", fmt::format("{}", decoder.eos)},
          {"pad_token_id", fmt::format("{}", decoder.eos)}};
}

/// Returns the JSON of the end of a text for a model that has its labels as rows.
std::string end_of_text(const configs::Config& config) {
  return fmt::format("{}", config.model.networks.eos);
}

}  // namespace

FolderSettings read_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw_fault(folder, "is no folder: name one that save_pretrained() of transformers made");
  FolderSettings found{.folder = folder,
                       .config = {},
                       .features = {},
                       .config_file = folder / kModelConfig,
                       .features_file = folder / kPreprocessorConfig};
  found.config = read_settings(found.config_file);
  return found;
}

void read_features(FolderSettings& settings) {
  if (is_there(settings.features_file)) {
    settings.features = read_settings(settings.features_file);
    return;
  }
  const std::filesystem::path& folder = settings.folder;
  if (!is_there(folder / kProcessorConfig))
    throw_fault(folder, fmt::format("holds neither {} nor {}: save the processor of the model into "
                                    "it",
                                    kPreprocessorConfig, kProcessorConfig));
  settings.features_file = folder / kProcessorConfig;
  settings.features = settings_within_processor(settings.features_file);
}

Settings settings_within_processor(const std::filesystem::path& file) {
  Settings within;
  for (const auto& [key, value] : read_settings(file))
    if (key.starts_with(kWithinProcessor))
      within.emplace(key.substr(std::string_view(kWithinProcessor).size()), value);
  return within;
}

// Fixed keys come first and rows follow in the order of the tables, because a row may need the key
// of an earlier one, as milliseconds need the sample rate.
configs::Config config_of(const Architecture& architecture, const FolderSettings& settings,
                          const configs::TextConfig& text) {
  configs::FlatConfig keys;
  std::vector<std::string> faults;
  Taker taker(keys, faults);
  const std::string config_file = settings.config_file.filename().string();
  const std::string features_file = settings.features_file.filename().string();
  for (const FixedKey& fixed : architecture.fixed) keys.emplace(fixed.ours, fixed.value);
  keys.emplace("model.decoder", architecture.decoder);
  taker.check(architecture.wanted, settings.config, config_file);
  taker.take(architecture.model, settings.config, config_file);
  const std::size_t before = faults.size();
  taker.check(architecture.derived, settings.config, config_file);
  const bool derived_differs = faults.size() > before;
  taker.check(architecture.wanted_features, settings.features, features_file);
  taker.take(architecture.features, settings.features, features_file);
  if (derived_differs) add_assumed(architecture, settings, faults);
  if (!faults.empty()) throw_unlike(settings.folder, architecture, faults);
  try {
    configs::Config config =
        configs::unflatten(keys, settings.folder.string(), layers::model_families());
    config.text = text;
    faults = configs::contradictions(
        config, [&](std::string_view key) { return source_of(architecture, key); });
    if (faults.empty()) return config;
    add_assumed(architecture, settings, faults);
    throw_unlike(settings.folder, architecture, faults);
  } catch (const ConfigError& error) {
    throw CheckpointError(error.what());
  }
}

std::vector<std::string> assumed_sizes(const Architecture& architecture, const Settings& settings) {
  const auto is_size = [](const MappedSetting& one) {
    const std::vector<std::string> items = items_of_json_list(one.absent);
    return one.absent == "true" || one.absent == "false" || kind_missed(one.absent, "1").empty() ||
           !items.empty();
  };
  std::vector<std::string> assumed;
  for (const MappedSetting& one : architecture.model) {
    const bool is_there =
        settings.contains(one.theirs) || (!one.formerly.empty() && settings.contains(one.formerly));
    if (!is_there && is_size(one))
      assumed.push_back(fmt::format("{}, so {} was taken", one.theirs, one.absent));
  }
  return assumed;
}

std::size_t count_differences(const Architecture& architecture, const configs::Config& config) {
  return fixed_faults(architecture, config).size();
}

void check_fixed(const Architecture& architecture, const configs::Config& config) {
  const std::vector<std::string> faults = fixed_faults(architecture, config);
  if (!faults.empty())
    throw ConfigError(
        fmt::format("{} of transformers needs other values than the checkpoint's:\n"
                    "  {}\nTrain a model with these values to export it.",
                    architecture.name, fmt::join(faults, "\n  ")));
}

Settings model_settings(const Architecture& architecture, const configs::Config& config,
                        std::int64_t rows, std::int64_t blank) {
  const configs::FlatConfig keys = resolved_keys(architecture, config);
  Settings settings = settings_of(architecture.model, architecture.wanted, keys);
  for (const MappedSetting& one : architecture.exported_too)
    settings.emplace(one.theirs, as_setting(one, keys));
  for (const DerivedSetting& one : architecture.derived)
    settings.emplace(one.theirs, as_setting(one, keys));
  settings["architectures"] = fmt::format("[{}]", quoted_json(architecture.name));
  settings["model_type"] = quoted_json(architecture.model_type);
  for (auto& [name, value] : label_settings(architecture, config, rows, blank))
    settings[name] = value;
  return settings;
}

Settings label_settings(const Architecture& architecture, const configs::Config& config,
                        std::int64_t rows, std::int64_t blank) {
  Settings settings{{std::string(architecture.rows_setting), fmt::format("{}", rows)}};
  if (!architecture.rows_too.empty())
    settings.emplace(architecture.rows_too, fmt::format("{}", rows));
  if (architecture.decoder == "attention") settings.merge(settings_of_ends(config));
  if (!architecture.free_row_setting.empty())
    settings.emplace(architecture.free_row_setting, fmt::format("{}", rows - 1));
  if (!architecture.blank_setting.empty())
    settings.emplace(architecture.blank_setting, fmt::format("{}", blank));
  settings.emplace("pad_token_id", fmt::format("{}", padding_row(architecture, config, blank)));
  if (architecture.chat) settings.emplace("eos_token_id", end_of_text(config));
  return settings;
}

// transformers chooses among all outputs of a transducer. What follows the tokens is durations.
Settings generation_settings(const Architecture& architecture, const configs::Config& config,
                             std::int64_t rows, std::int64_t blank) {
  if (architecture.decoder == "ctc") return {};
  if (architecture.decoder == "attention") {
    Settings settings = settings_of_ends(config);
    settings.merge(suppression_settings(config.model.networks, {rows, blank}));
    return settings;
  }
  if (architecture.chat)
    return {{"eos_token_id", end_of_text(config)}, {"pad_token_id", end_of_text(config)}};
  if (!architecture.generation.empty()) {
    Settings settings =
        settings_of(architecture.generation, {}, resolved_keys(architecture, config));
    settings.emplace("pad_token_id", fmt::format("{}", padding_row(architecture, config, blank)));
    return settings;
  }
  Settings settings{{"decoder_start_token_id", fmt::format("{}", blank)},
                    {"pad_token_id", fmt::format("{}", blank)}};
  if (architecture.decoder != "tdt") return settings;
  std::vector<std::int64_t> durations(config.model.networks.durations.size());
  std::iota(durations.begin(), durations.end(), rows);
  settings.emplace("suppress_tokens", fmt::format("[{}]", fmt::join(durations, ",")));
  return settings;
}

Settings feature_settings(const Architecture& architecture, const configs::Config& config) {
  return settings_of(architecture.features, architecture.wanted_features,
                     resolved_keys(architecture, config));
}

Settings model_changes(const Architecture& architecture, const configs::Config& config,
                       const Settings& theirs) {
  const configs::FlatConfig keys = resolved_keys(architecture, config);
  Settings changes = changes_of(architecture.model, keys, theirs);
  // Each of these changes together with the setting that the import read.
  for (const MappedSetting& one : architecture.exported_too)
    if (changes.contains(
            std::ranges::find(architecture.model, one.ours, &MappedSetting::ours)->theirs))
      changes.emplace(one.theirs, as_setting(one, keys));
  return changes;
}

Settings feature_changes(const Architecture& architecture, const configs::Config& config,
                         const Settings& theirs) {
  return changes_of(architecture.features, resolved_keys(architecture, config), theirs);
}

Settings generation_changes(const Architecture& architecture, const configs::Config& config,
                            const Settings& theirs) {
  return changes_of(architecture.generation, resolved_keys(architecture, config), theirs);
}

std::int64_t blank_row(const Architecture& architecture, const Settings& settings,
                       const std::filesystem::path& file) {
  return whole_setting(settings, architecture.label_zero_setting(), architecture.blank, file);
}

std::int64_t whole_setting(const Settings& settings, std::string_view name, std::string_view absent,
                           const std::filesystem::path& file) {
  const std::string_view text = value_of(settings, name, absent);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw_fault(file, fmt::format("{} is {}, but it must be a whole number", name, text));
  return number;
}

}  // namespace penstock::runtime
