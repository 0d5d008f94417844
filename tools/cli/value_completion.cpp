#include "tools/cli/value_completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ranges>
#include <string_view>
#include <variant>

#include "configs/config_folder.h"
#include "configs/schema.h"
#include "layers/models/families.h"
#include "partition/schedule/make_schedule.h"
#include "tools/cli/command_table.h"

// There are some 250 keys. A word without a point is completed to sections alone, such as
// "trainer.", and the next press of Tab shows the section's keys.

namespace penstock::tools {
namespace {

constexpr std::string_view kKeys = "KEY=VALUE";

void add_word(const std::string& word, std::string_view meaning, const std::string& begun,
              Completions& found) {
  const auto same = [&](const Candidate& each) { return each.word == word; };
  if (word.starts_with(begun) && std::ranges::none_of(found.candidates, same))
    found.candidates.push_back({word, std::string(meaning)});
}

/// Holds the keys of every family of models. They point into the other members.
struct AllKeys {
  std::vector<layers::ModelFamily> families = layers::model_families();
  configs::Config defaults = configs::default_config(families);
  std::vector<Key> keys = configs::keys(defaults, families);

  AllKeys() {
    for (layers::ModelFamily& family : families)
      std::ranges::copy(family.keys(), std::back_inserter(keys));
  }
};

/// Adds what `key` may be set to, as "key=value".
void add_key_values(const Key& key, const std::string& begun, Completions& found) {
  const std::string name = std::string(key.name) + "=";
  for (const std::string_view choice : key.allowed.choices)
    if (choice.find('*') == std::string_view::npos)
      add_word(name + std::string(choice), "", begun, found);
  if (std::holds_alternative<bool*>(key.value))
    for (const char* value : {"true", "false"}) add_word(name + value, "", begun, found);
  if (key.name == "model.base")
    for (const std::string& model : configs::model_names())
      add_word(name + model, "", begun, found);
  const bool text = std::holds_alternative<std::string*>(key.value) ||
                    std::holds_alternative<std::vector<WeightedManifest>*>(key.value);
  if (text && key.allowed.choices.empty()) found.files = true;
}

/// Adds keys whose names begin with `section`, such as "text.", or with "" for all.
void add_keys(std::string_view section, const std::string& begun, Completions& found) {
  AllKeys all;
  const std::size_t end = begun.find('=');
  const bool sections = begun.find('.') == std::string::npos;
  for (const Key& key : all.keys) {
    const std::string name(key.name);
    if (!name.starts_with(section)) continue;
    if (end != std::string::npos) {
      if (begun.substr(0, end) == name) return add_key_values(key, begun, found);
    } else if (sections) {
      add_word(std::string(key.section()) + ".", "keys of a recipe", begun, found);
    } else {
      add_word(name + "=", key.help, begun, found);
    }
  }
}

void add_names(const char* folder, const std::string& begun, Completions& found) {
  for (const std::string& name : configs::names_in_config_folder(folder))
    add_word(name, "", begun, found);
}

void add_kind(const std::string& kind, const std::string& begun, Completions& found) {
  if (kind.ends_with(kKeys))
    add_keys(std::string_view(kind).substr(0, kind.size() - kKeys.size()), begun, found);
  else if (kind == "MODEL")
    add_names("models", begun, found);
  else if (kind == "DEVICE")
    add_names("devices", begun, found);
  else if (kind == "CLUSTER")
    add_names("clusters", begun, found);
  else if (kind == "SCHEDULE")
    for (const std::string_view name : partition::all_schedule_names())
      add_word(std::string(name), "", begun, found);
  else if (kind == "FOLDER")
    found.folders = true;
  else if (kind == "FILE" || kind == "TEXT")
    found.files = true;
}

}  // namespace

void add_values(const CLI::Option& option, const std::string& begun, Completions& found) {
  const std::vector<std::string> choices = value_choices(option);
  for (const std::string& choice : choices) add_word(choice, "", begun, found);
  if (!choices.empty()) return;
  // After a key and =, only that key's values fit.
  const std::vector<std::string> kinds = value_kinds(option);
  const auto takes_keys = [](const std::string& kind) { return kind.ends_with(kKeys); };
  const bool value = begun.find('=') != std::string::npos;
  for (const std::string& kind : kinds)
    if (!value || takes_keys(kind) || std::ranges::none_of(kinds, takes_keys))
      add_kind(kind, begun, found);
}

}  // namespace penstock::tools
