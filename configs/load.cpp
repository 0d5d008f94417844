#include "configs/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/name_match.h"
#include "configs/config_folder.h"
#include "configs/include.h"
#include "configs/rules.h"
#include "configs/schema.h"
#include "configs/source.h"
#include "configs/value.h"

// A configuration is made of settings in the order of their force: the model file, the recipe, the
// command line. The order in which they are read differs, because each step needs one before it:
//   1. The recipe, what it includes and the overrides are read as text. The last of them that names
//      model.base says which model file comes first.
//   2. The model's family is chosen, from the model file and then from the rest, because the family
//      decides which keys exist.
//   3. All settings are applied, each checked against its key's type and range. Faults are
//      collected with their places, and loading goes on.
//   4. Only if there were none, the step is divided and keys are compared with each other, since
//      contradictions of faulty values would only distract.
// `where_` remembers which line set each key, so that a contradiction is reported at that line.

namespace penstock::configs {
namespace {

/// Returns true if a family has a key of that name.
bool takes(layers::ModelFamily family, std::string_view name) {
  return std::ranges::any_of(family.keys(), [&](const Key& key) { return key.name == name; });
}

/// Returns the fault of a model name that has no file.
std::string unknown_model(const std::string& name) {
  const std::vector<std::string> known = model_names();
  if (known.empty())
    return fmt::format("model.base = {}, but there are no models in {}: give a TOML file", name,
                       (config_folder() / "models").string());
  return fmt::format("model.base = {} is not a known model; known are {}, or give a TOML file{}",
                     name, fmt::join(known, ", "), did_you_mean(name, known));
}

bool holds_list(const KeyValue& value) {
  return std::holds_alternative<std::vector<double>*>(value) ||
         std::holds_alternative<std::vector<int>*>(value) ||
         std::holds_alternative<std::vector<std::string>*>(value);
}

bool holds_manifests(const KeyValue& value) {
  return std::holds_alternative<std::vector<WeightedManifest>*>(value);
}

/// Returns true if a value of that kind in a file may set the key. A whole number may set a real
/// one, but not the other way round. Values of the command line have no kind, and set_value() alone
/// decides.
bool kind_fits(Setting::Kind kind, const KeyValue& value) {
  using Kind = Setting::Kind;
  switch (kind) {
    case Kind::untyped:
      return true;
    case Kind::text:
      return std::holds_alternative<std::string*>(value) || holds_manifests(value);
    case Kind::boolean:
      return std::holds_alternative<bool*>(value);
    case Kind::whole:
      return !std::holds_alternative<std::string*>(value) &&
             !std::holds_alternative<bool*>(value) && !holds_list(value) && !holds_manifests(value);
    case Kind::number:
      return std::holds_alternative<double*>(value);
    case Kind::list:
      return holds_list(value) || holds_manifests(value);
    case Kind::array:
      return holds_manifests(value);
    case Kind::other:
      return false;
  }
  return false;
}

/// Applies settings to a Config and collects their faults. The model file that model.base names
/// comes first, then the recipe, then the overrides; later values win.
class Loader {
 public:
  explicit Loader(std::span<const layers::ModelFamily> families)
      : families_(families), config_(default_config(families)) {}

  /// Returns the settings of the model file that `settings` name; `settings` override them.
  std::vector<Setting> base_of(const std::vector<Setting>& settings) {
    const auto base = std::find_if(settings.rbegin(), settings.rend(),
                                   [](const Setting& s) { return s.key == "model.base"; });
    if (base == settings.rend() || base->text.empty()) return {};
    const bool is_file = base->text.ends_with(".toml");
    const auto file = is_file ? std::filesystem::path(base->text)
                              : config_folder() / "models" / (base->text + ".toml");
    const auto text = file_text(file);
    if (!text) {
      fault(base->where, is_file
                             ? fmt::format("model.base = {}, but there is no such file", base->text)
                             : unknown_model(base->text));
      return {};
    }
    return settings_of_toml(*text, file.string(), faults);
  }

  /// Chooses the family that the last of the settings names. apply() then takes that family's keys.
  void choose_family(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      const auto* named =
          setting.key == "model.kind" ? layers::find_family(families_, setting.text) : nullptr;
      if (named != nullptr) config_.model.family = *named;
    }
  }

  /// Applies the settings of a model file, which may hold the sections kSections alone.
  void apply_base(const std::vector<Setting>& settings) {
    constexpr std::array<std::string_view, 4> kSections{"model.", "decoder.", "features.", "text."};
    const std::vector<Key> all = keys(config_, families_);
    for (const Setting& setting : settings) {
      const bool allowed = std::ranges::any_of(
          kSections, [&](std::string_view section) { return setting.key.starts_with(section); });
      if (allowed && setting.key != "model.base") {
        apply(setting, all);
      } else {
        fault(setting.where, setting.written +
                                 " is not allowed in a model's file, which holds [model], "
                                 "[decoder], [features] and [text]");
      }
    }
  }

  void apply(const std::vector<Setting>& settings) {
    const std::vector<Key> all = keys(config_, families_);
    for (const Setting& setting : settings) apply(setting, all);
  }

  Config finish(const std::string& name) {
    if (faults.empty()) {
      const auto step =
          divide_step(config_, {.seconds = where_.contains("data.micro_batch_seconds"),
                                .number = where_.contains("data.micro_batches")});
      if (!step.empty()) fault(where_.at("data.batch_seconds"), step);
    }
    if (faults.empty()) {
      faults = contradictions(config_, [&](std::string_view key) {
        const auto found = where_.find(std::string(key));
        return found == where_.end() ? name : found->second;
      });
    }
    if (faults.empty()) return config_;
    throw ConfigError(
        fmt::format("the configuration can't be used:\n  {}", fmt::join(faults, "\n  ")));
  }

  std::vector<std::string> faults;

 private:
  void fault(const std::string& where, const std::string& what) {
    faults.push_back(fmt::format("{}: {}", where, what));
  }

  /// Returns the families that take an unknown key, or else the nearest known key.
  std::string hint(const std::string& unknown, const std::vector<Key>& known) const {
    if (unknown == "include") return ": include stands in recipes alone";
    if (unknown.ends_with(".include")) return "; include stands before the first section";
    std::vector<std::string> takers;
    for (const layers::ModelFamily& family : families_)
      if (takes(family, unknown)) takers.emplace_back(family.name());
    if (!takers.empty())
      return fmt::format(", which goes with model.kind = {}", fmt::join(takers, " or "));
    std::vector<std::string_view> names;
    for (const Key& key : known) names.push_back(key.name);
    return did_you_mean(unknown, names);
  }

  void apply(const Setting& setting, const std::vector<Key>& all) {
    const auto key = std::ranges::find(all, setting.key, &Key::name);
    if (key == all.end())
      return fault(setting.where,
                   fmt::format("unknown key {}{}", setting.key, hint(setting.key, all)));
    if (!kind_fits(setting.kind, key->value)) {
      return fault(setting.where, fmt::format("{} = {}, but it takes {}", setting.key,
                                              setting.shown, expectation(*key)));
    }
    // A list of manifests is read as TOML, which `shown` is. The plain text of a list has lost the
    // quotes of its names.
    const bool of_tables =
        setting.kind == Setting::Kind::list || setting.kind == Setting::Kind::array;
    const std::string& text =
        of_tables && holds_manifests(key->value) ? setting.shown : setting.text;
    if (const auto wrong = set_value(*key, text)) return fault(setting.where, *wrong);
    where_[setting.key] = setting.where;
  }

  std::span<const layers::ModelFamily> families_;
  Config config_;
  std::map<std::string, std::string> where_;
};

/// Suggests model.base if a model's name, perhaps misspelt, stands in place of a recipe.
std::string model_hint(const std::string& word) {
  const auto models = model_names();
  const std::vector<std::string_view> names(models.begin(), models.end());
  const std::string near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; for the model {}, write model.base={}", near, near);
}

/// Suggests the recipe of the configuration folder whose name is nearest to that of a file.
std::string recipe_hint(const std::filesystem::path& file) {
  const auto recipes = names_in_config_folder("recipes");
  const std::vector<std::string_view> names(recipes.begin(), recipes.end());
  const std::string near = nearest(file.stem().string(), names);
  if (near.empty()) return "";
  return fmt::format("; did you mean {}?", (config_folder() / "recipes" / near).string() + ".toml");
}

/// Suggests what to write in place of a file that does not exist.
std::string hint_for(const std::filesystem::path& file) {
  const std::string model = model_hint(file.string());
  return model.empty() ? recipe_hint(file) : model;
}

}  // namespace

// The model file's settings are applied before the recipe's, though they are known only after the
// recipe has been read.
Config parse_config(const std::string& text, const std::string& name,
                    std::span<const layers::ModelFamily> families,
                    std::span<const std::string> overrides) {
  Loader loader(families);
  std::vector<Setting> settings = settings_of_recipe(text, name, loader.faults);
  const std::vector<Setting> over = settings_of_overrides(overrides, loader.faults);
  settings.insert(settings.end(), over.begin(), over.end());
  const std::vector<Setting> base = loader.base_of(settings);
  loader.choose_family(base);
  loader.choose_family(settings);
  loader.apply_base(base);
  loader.apply(settings);
  return loader.finish(name);
}

Config load_config(const std::filesystem::path& file, std::span<const layers::ModelFamily> families,
                   std::span<const std::string> overrides) {
  if (file.empty()) return parse_config("", "defaults", families, overrides);
  const auto text = file_text(file);
  if (!text)
    throw ConfigError(fmt::format("{}: no such configuration file, or it can't be read{}",
                                  file.string(), hint_for(file)));
  return parse_config(*text, file.string(), families, overrides);
}

}  // namespace penstock::configs
