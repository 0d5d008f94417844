#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/name_match.h"
#include "configs/toml_check.h"
#include "configs/value.h"

// A list of manifests is one plain text on command lines and in checkpoints. manifests_text() and
// read_manifests() are inverses. A single path needs no syntax, so it stays as the user wrote it.
// The exception is a path that itself looks like a list, which is written as a list of one.
//
// Lists are TOML, and TOML needs quotes, which shells remove. So a list that TOML refuses is read
// once more as bare paths between commas, if no character in it could mean anything else.

namespace penstock::configs {
namespace {

constexpr std::string_view kKeys[] = {"manifest", "weight", "group"};

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Returns true for text in brackets, which is read as a list and not as a path.
bool is_list_of_manifests(std::string_view text) {
  return text.size() >= 2 && text.front() == '[' && text.back() == ']';
}

/// Returns true if an item is more than its path.
bool is_table(const WeightedManifest& item) { return item.weight != 1 || !item.group.empty(); }

/// Formats an item: a path alone, or a table of what differs from the defaults.
std::string item_text(const WeightedManifest& item) {
  if (!is_table(item)) return toml_string(item.manifest);
  std::string text = fmt::format("{{manifest = {}", toml_string(item.manifest));
  if (item.weight != 1) text += fmt::format(", weight = {}", item.weight);
  if (!item.group.empty()) text += fmt::format(", group = {}", toml_string(item.group));
  return text + "}";
}

/// Returns the paths between commas, or nothing if they hold characters that need quotes.
std::optional<std::vector<WeightedManifest>> bare_paths(std::string_view list) {
  std::vector<WeightedManifest> paths;
  for (std::string_view rest = list; !without_blanks(rest).empty();) {
    const auto comma = rest.find(',');
    const std::string_view path = without_blanks(rest.substr(0, comma));
    if (path.empty() || path.find_first_of("\"'[]{}") != std::string_view::npos) return {};
    paths.push_back({std::string(path)});
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return paths;
}

/// An item of a list with its fault, if it has one.
struct ReadItem {
  WeightedManifest item;
  std::string fault;
};

/// Returns the fault of an item that is a table, or "".
std::string fault_of_keys(const toml::table& table) {
  for (const auto& [key, value] : table)
    if (std::ranges::find(kKeys, key.str()) == std::end(kKeys))
      return fmt::format("has the unknown key {}, and takes manifest, weight and group{}",
                         key.str(), did_you_mean(key.str(), kKeys));
  if (!table["manifest"].is_string())
    return "names no manifest: write {manifest = \"a.jsonl\", weight = 2}";
  if (table.contains("weight") && !table["weight"].is_number())
    return "has a weight that is no number: a weight is a number above 0";
  if (table.contains("group") && table["group"].value_or(std::string()).empty())
    return "has a group that is no name: write {manifest = \"a.jsonl\", group = \"de\"}";
  return {};
}

ReadItem read_item_of(const toml::node& node) {
  ReadItem read;
  if (const auto* path = node.as_string()) {
    read.item.manifest = path->get();
  } else if (const auto* table = node.as_table()) {
    read.fault = fault_of_keys(*table);
    if (!read.fault.empty()) return read;
    read.item = {*(*table)["manifest"].value<std::string>(),
                 (*table)["weight"].value<double>().value_or(1),
                 (*table)["group"].value_or(std::string())};
  } else {
    read.fault = "is neither a path nor a table of manifest, weight and group";
    return read;
  }
  const double weight = read.item.weight;
  if (read.item.manifest.empty())
    read.fault = "has an empty path: name a manifest, or leave the item out";
  else if (!(weight > 0 && std::isfinite(weight)))
    read.fault = fmt::format(
        "has the weight {}: a weight is a number above 0; leave out a manifest that is not "
        "wanted",
        weight);
  return read;
}

/// Returns a fault if two items name one manifest, in whatever spelling of the path.
std::string fault_of_repetition(const std::vector<WeightedManifest>& manifests) {
  const auto path = [&](std::size_t i) {
    return std::filesystem::absolute(manifests[i].manifest).lexically_normal();
  };
  for (std::size_t i = 0; i < manifests.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (path(i) == path(j))
        return fmt::format("items {} and {} name one manifest, {}: name it once", j + 1, i + 1,
                           manifests[i].manifest);
  return {};
}

/// Returns a fault if some items have a group, and others have none.
std::string fault_of_groups(const std::vector<WeightedManifest>& manifests) {
  const auto ungrouped = std::ranges::find(manifests, "", &WeightedManifest::group);
  const auto grouped = std::ranges::find_if(
      manifests, [](const WeightedManifest& item) { return !item.group.empty(); });
  if (ungrouped == manifests.end() || grouped == manifests.end()) return {};
  return fmt::format("{} has the group {}, and {} has none: name a group for each or for none",
                     grouped->manifest, grouped->group, ungrouped->manifest);
}

/// Appends the items of a list. Returns the fault of the first faulty one, with its number from 1.
std::string read_list(const toml::array& list, std::vector<WeightedManifest>& manifests) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    ReadItem read = read_item_of(list[i]);
    if (!read.fault.empty()) return fmt::format("item {} {}", i + 1, read.fault);
    manifests.push_back(std::move(read.item));
  }
  return {};
}

}  // namespace

std::string manifests_text(const std::vector<WeightedManifest>& manifests) {
  if (manifests.empty()) return {};
  const WeightedManifest& first = manifests.front();
  const bool plain = manifests.size() == 1 && !is_table(first);
  if (plain && !is_list_of_manifests(without_blanks(first.manifest))) return first.manifest;
  std::vector<std::string> items;
  for (const WeightedManifest& item : manifests) items.push_back(item_text(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string read_manifests(std::string_view text, std::vector<WeightedManifest>& manifests) {
  const std::string_view list = without_blanks(text);
  if (!is_list_of_manifests(list)) {
    if (!text.empty()) manifests.push_back({std::string(text)});
    return {};
  }
  const std::string text_of_toml = fmt::format("list = {}", list);
  std::string no_toml;  // the reason, if it is none
  if (const auto found = find_toml_fault(text_of_toml)) {
    no_toml = found->what;
  } else {
    try {
      const toml::table parsed = toml::parse(text_of_toml);
      if (std::string fault = read_list(*parsed["list"].as_array(), manifests); !fault.empty())
        return fault;
    } catch (const toml::parse_error& error) {
      no_toml = error.description();
    }
  }
  // A list that is no TOML may have lost its quotes to a shell.
  if (!no_toml.empty()) {
    auto bare = bare_paths(list.substr(1, list.size() - 2));
    if (!bare) return fmt::format("it is no list in TOML: {}", no_toml);
    manifests = std::move(*bare);
  }
  if (manifests.empty()) return "the list is empty: name a manifest";
  if (std::string fault = fault_of_groups(manifests); !fault.empty()) return fault;
  return fault_of_repetition(manifests);
}

}  // namespace penstock::configs
