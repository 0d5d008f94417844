#include "runtime/huggingface/peft_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"

// PEFT adds settings with each version, and each is inert by default. So a setting that is unknown
// here is accepted if it is null, false, 0 or empty, and refused otherwise: it would change what
// the adapter computes. Settings that only tell how training began are ignored.
//
//   {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"],
//    "rank_pattern": {"layers.0.attention.q_proj": 4}, "modules_to_save": ["lm_head"], …}

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// Settings that are read, or that change nothing about a trained adapter.
constexpr std::string_view kKnown[] = {"alpha_pattern",
                                       "auto_mapping",
                                       "base_model_name_or_path",
                                       "bias",
                                       "corda_config",
                                       "eva_config",
                                       "exclude_modules",
                                       "fan_in_fan_out",
                                       "inference_mode",
                                       "init_lora_weights",
                                       "layers_pattern",
                                       "layers_to_transform",
                                       "loftq_config",
                                       "lora_alpha",
                                       "lora_dropout",
                                       "lora_ga_config",
                                       "megatron_core",
                                       "modules_to_save",
                                       "peft_type",
                                       "peft_version",
                                       "qalora_group_size",
                                       "r",
                                       "rank_pattern",
                                       "revision",
                                       "runtime_config",
                                       "target_modules",
                                       "task_type",
                                       "use_rslora"};

/// Initial values of A and B that leave the base as it is.
constexpr std::string_view kHarmlessStarts[] = {"gaussian", "eva", "orthogonal"};

bool inert(const Json& value) {
  if (value.is_null() || value.empty()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value == 0;
  return value.is_string() && value.get<std::string>().empty();
}

/// A pattern is a name if its special characters are only those that matches_module() reads.
bool names_module(std::string_view pattern) {
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool letter = std::isalnum(static_cast<unsigned char>(pattern[i])) != 0;
    if (letter || pattern[i] == '_' || pattern[i] == '-' || pattern[i] == '.') continue;
    if (pattern[i] != '\\' || i + 1 == pattern.size() || pattern[++i] != '.') return false;
  }
  return !pattern.empty();
}

/// Reads one adapter_config.json and collects its faults.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  PeftConfig read() {
    check();
    PeftConfig config;
    config.rank = whole(value("r", Json(config.rank)), "r");
    config.alpha = positive(value("lora_alpha", Json(config.alpha)), "lora_alpha");
    config.dropout = value("lora_dropout", Json(0.0)).get<double>();
    if (!(config.dropout >= 0 && config.dropout < 1))
      fault("lora_dropout is {}, but it must be at least 0 and below 1", config.dropout);
    config.rank_stabilised = value("use_rslora", Json(false)).get<bool>();
    for (const auto& [pattern, rank] : patterns("rank_pattern"))
      config.ranks.emplace_back(pattern, whole(rank, "rank_pattern"));
    for (const auto& [pattern, alpha] : patterns("alpha_pattern"))
      config.alphas.emplace_back(pattern, positive(alpha, "alpha_pattern"));
    const bool unrestricted =
        std::ranges::all_of(std::array{"exclude_modules", "layers_to_transform", "layers_pattern"},
                            [&](const char* key) { return value(key, nullptr).empty(); });
    if (unrestricted) config.targets = names("target_modules");
    config.saved = names("modules_to_save");
    const Json mapping = value("auto_mapping", Json::object());
    config.base_class = mapping.value("base_model_class", "");
    config.base_library = mapping.value("parent_library", "");
    const Json base = value("base_model_name_or_path", "");
    config.base = base.get<std::string>();
    return config;
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  template <class... Values>
  void fault(fmt::format_string<Values...> text, Values&&... values) {
    faults_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  /// Returns a setting, or `absent` if it is missing or null.
  Json value(const char* key, const Json& absent) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? absent : *found;
  }

  void check() {
    if (const Json type = value("peft_type", ""); type != "LORA")
      fault("peft_type is {}, but penstock reads \"LORA\"", type.dump());
    if (const Json bias = value("bias", "none"); bias != "none")
      fault("bias is {}, but penstock reads adapters without trained biases, \"none\"",
            bias.dump());
    const Json start = value("init_lora_weights", true);
    const bool harmless =
        start.is_boolean() ||
        (start.is_string() &&
         std::ranges::find(kHarmlessStarts, start.get<std::string>()) != std::end(kHarmlessStarts));
    if (!harmless)
      fault(
          "init_lora_weights is {}, which changes the base: in Python, save the adapter with "
          "save_pretrained(…, path_initial_model_for_weight_conversion=…), so that it fits the "
          "base as it was",
          start.dump());
    for (const auto& [key, setting] : json_.items())
      if (std::ranges::find(kKnown, key) == std::end(kKnown) && !inert(setting))
        fault("{} is {}, which penstock's adapters have not: it must be null, false or absent", key,
              setting.dump());
  }

  std::int64_t whole(const Json& number, const char* key) {
    constexpr std::int64_t kMaxRank = 65536;
    if (number.is_number_integer() && number >= 1 && number <= kMaxRank)
      return number.get<std::int64_t>();
    fault("{} has {}, but a rank is a whole number of 1 to {}", key, number.dump(), kMaxRank);
    return 1;
  }

  double positive(const Json& number, const char* key) {
    if (number.is_number() && number > 0 && std::isfinite(number.get<double>()))
      return number.get<double>();
    fault("{} has {}, but an alpha is a number above 0", key, number.dump());
    return 1;
  }

  /// Returns an object's entries.
  ByModule<Json> patterns(const char* key) {
    ByModule<Json> entries;
    const Json object = value(key, Json::object());
    if (!object.is_object()) fault("{} is {}, but it must be an object", key, object.dump());
    for (const auto& [pattern, entry] : object.items()) {
      if (!names_module(pattern))
        fault(
            "{} has \"{}\", a regular expression, but penstock reads names of modules: write "
            "one entry for each module",
            key, pattern);
      entries.emplace_back(pattern, entry);
    }
    return entries;
  }

  /// Returns a list of names; none if the value is a text, which is a regular expression.
  std::vector<std::string> names(const char* key) const {
    const Json list = value(key, Json::array());
    return list.is_string() ? std::vector<std::string>{} : list.get<std::vector<std::string>>();
  }

  const Json& json_;
  std::vector<std::string> faults_;
};

template <class Value>
Value value_for(const ByModule<Value>& values, std::string_view module, const Value& otherwise) {
  for (const auto& [pattern, value] : values)
    if (matches_module(pattern, module)) return value;
  return otherwise;
}

/// Returns a number as JSON; a whole one has no point.
Json json_number(double number) {
  constexpr double kMaxWhole = 1e15;
  if (number == std::floor(number) && std::abs(number) < kMaxWhole)
    return static_cast<std::int64_t>(number);
  return number;
}

/// Returns the text as JSON; an empty one is null.
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

PeftConfig read_peft_config(const std::filesystem::path& file) {
  const std::string text = json_text_of_file(file);
  std::vector<std::string> faults;
  PeftConfig config;
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) throw_fault(file, "holds no JSON object");
    Reader reader(json);
    config = reader.read();
    faults = reader.faults();
  } catch (const Json::exception& error) {
    throw_fault(file, fmt::format("can't be read as the settings of an adapter: {}", error.what()));
  }
  if (!faults.empty())
    throw_fault(file,
                fmt::format("this adapter can't be imported:\n  {}", fmt::join(faults, "\n  ")));
  return config;
}

// The keys are those of the first versions of PEFT that had these settings; later ones fill in
// their defaults. Their order is the alphabet's, as in PEFT's files.
std::string to_json_text(const PeftConfig& config) {
  Json ranks = Json::object(), alphas = Json::object();
  for (const auto& [module, rank] : config.ranks) ranks[module] = rank;
  for (const auto& [module, alpha] : config.alphas) alphas[module] = json_number(alpha);
  const Json mapping = {{"base_model_class", config.base_class},
                        {"parent_library", config.base_library}};
  const Json json = {{"alpha_pattern", alphas},
                     {"auto_mapping", config.base_class.empty() ? Json(nullptr) : mapping},
                     {"base_model_name_or_path", text_or_null(config.base)},
                     {"bias", "none"},
                     {"fan_in_fan_out", false},
                     {"inference_mode", true},
                     {"init_lora_weights", true},
                     {"layers_pattern", nullptr},
                     {"layers_to_transform", nullptr},
                     {"lora_alpha", json_number(config.alpha)},
                     {"lora_dropout", config.dropout},
                     {"modules_to_save", config.saved.empty() ? Json(nullptr) : Json(config.saved)},
                     {"peft_type", "LORA"},
                     {"r", config.rank},
                     {"rank_pattern", ranks},
                     {"revision", nullptr},
                     {"target_modules", config.targets},
                     {"task_type", nullptr},
                     {"use_rslora", config.rank_stabilised}};
  return json.dump(2) + "\n";
}

bool matches_module(std::string_view pattern, std::string_view module) {
  const bool whole = pattern.starts_with('^');
  if (whole) pattern.remove_prefix(1);
  std::size_t at = module.size();
  while (!pattern.empty()) {
    if (at == 0) return false;
    const char wanted = pattern.back();
    pattern.remove_suffix(1);
    const bool exactly = pattern.ends_with('\\');
    if (exactly) pattern.remove_suffix(1);
    --at;
    if ((exactly || wanted != '.') && module[at] != wanted) return false;
  }
  return at == 0 || (!whole && module[at - 1] == '.');
}

std::int64_t rank_of(const PeftConfig& config, std::string_view module) {
  return value_for(config.ranks, module, config.rank);
}

double scale_of(const PeftConfig& config, std::string_view module) {
  const auto rank = static_cast<double>(rank_of(config, module));
  return value_for(config.alphas, module, config.alpha) /
         (config.rank_stabilised ? std::sqrt(rank) : rank);
}

}  // namespace penstock::runtime
