#include "configs/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "configs/schema.h"
#include "configs/value.h"

// Both outputs walk through the schema's keys in its order, so none can be missing or out of date.
// A recipe must read back to the same values: text is quoted, and a real number gets a point,
// because TOML would read "1" as an integer.

namespace penstock::configs {
namespace {

/// Returns manifests as TOML: a list as it is, and a path as a string.
std::string to_toml(const std::vector<WeightedManifest>& manifests, const std::string& text) {
  const bool path = manifests.empty() || text == manifests.front().manifest;
  return path ? toml_string(text) : text;
}

/// Returns a value as TOML. Lists of numbers are TOML in plain text already, names need quotes.
std::string toml_value(const KeyValue& value) {
  const std::string text = value_text(value);
  if (const auto* names = std::get_if<std::vector<std::string>*>(&value)) {
    std::vector<std::string> items;
    for (const std::string& name : **names) items.push_back(toml_string(name));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (const auto* manifests = std::get_if<std::vector<WeightedManifest>*>(&value))
    return to_toml(**manifests, text);
  if (std::holds_alternative<std::string*>(value)) return toml_string(text);
  // TOML reads a number without a point as an integer.
  const bool real = std::holds_alternative<double*>(value);
  return real && text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// Returns a heading of Markdown, and the head of the table below it.
std::string heading(std::string_view level, std::string_view title) {
  return fmt::format("\n{} {}\n\n| key | takes | default | meaning |\n|---|---|---|---|\n", level,
                     title);
}

/// Returns the mark that says if a run may change the key when it resumes.
std::string_view mark_of(const Key& key) {
  switch (on_resume(key)) {
    case OnResume::accepted:
      return " †";
    case OnResume::fixed:
      return " ‡";
    default:
      return "";
  }
}

std::string row(const Key& key) {
  return fmt::format("| `{}` | {} | `{}` | {}{} |\n", key.name, expectation(key),
                     toml_value(key.value), key.help, mark_of(key));
}

/// Returns a table of each family's own keys.
std::string family_tables(std::span<const layers::ModelFamily> families) {
  std::string out;
  for (layers::ModelFamily family : families) {
    out += heading("###", "model.kind = " + toml_string(std::string(family.name())));
    for (const Key& key : family.keys()) out += row(key);
  }
  return out;
}

}  // namespace

// With several families, the keys that they have of their own are left out of [model], and follow
// it in a table for each family.
std::string config_reference(std::span<const layers::ModelFamily> families) {
  Config defaults = default_config(families);
  const bool apart = families.size() > 1;
  const std::vector<Key> own = apart ? defaults.model.family.keys() : std::vector<Key>();
  std::string out;
  std::string_view section;
  for (const Key& key : keys(defaults, families)) {
    if (std::ranges::find(own, key.name, &Key::name) != own.end()) continue;
    if (key.section() != section) {
      if (apart && section == "model") out += family_tables(families);
      section = key.section();
      out += heading("##", fmt::format("[{}]", section));
    }
    out += row(key);
  }
  return out;
}

std::string recipe_text(const Config& config, std::span<const std::string_view> names) {
  const auto asked = [&](const Key& key) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return (name == key.section() || name == key.name) && key.name != "model.base";
    });
  };
  Config copy = config;
  std::string out;
  std::string_view section;
  for (const Key& key : keys(copy)) {
    if (!asked(key)) continue;
    if (key.section() != section) {
      section = key.section();
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    out += fmt::format("{} = {}\n", key.leaf(), toml_value(key.value));
  }
  return out;
}

}  // namespace penstock::configs
