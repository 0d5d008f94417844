#include "configs/source.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>

#include "configs/named_keys.h"
#include "configs/toml_check.h"
#include "configs/toml_line.h"
#include "configs/value.h"

// Values from a TOML file and from the command line become one form, plain text, so that a key is
// set in one way whatever its source. The command line has no types, so text is also all that both
// can share. What TOML knows besides, the kind of a value and how it was written, is kept for
// checks and messages. toml++ sorts keys by name; settings are put back into the file's order, in
// which faults are reported and later values win.

namespace penstock::configs {
namespace {

/// Returns the list as plain text, or nothing unless all items are numbers or all are names.
std::optional<std::string> list_text(const toml::array& list) {
  std::vector<double> numbers;
  std::vector<std::string> names;
  for (const toml::node& item : list) {
    if (item.is_number()) numbers.push_back(*item.value<double>());
    // Commas separate the items of a plain list, so a name may hold none, and may not be empty.
    if (!item.is_string()) continue;
    const std::string name = *item.value<std::string>();
    if (!name.empty() && name.find(',') == std::string::npos) names.push_back(name);
  }
  if (numbers.size() == list.size()) return value_text(&numbers);
  if (names.size() == list.size()) return value_text(&names);
  return std::nullopt;
}

/// Returns a setting with its value as plain text. Two kinds have none: a list that is neither of
/// numbers nor of names, for which `shown` is read if the key takes manifests, and dates and the
/// like, which no key takes.
Setting setting_of(std::string key, const toml::node& node, const std::string& name) {
  Setting setting;
  setting.key = current_name(key);
  setting.written = std::move(key);
  setting.line = static_cast<int>(node.source().begin.line);
  setting.where = fmt::format("{}:{}", name, setting.line);
  if (const auto* text = node.as_string()) {
    setting.kind = Setting::Kind::text;
    setting.text = text->get();
  } else if (const auto* boolean = node.as_boolean()) {
    setting.kind = Setting::Kind::boolean;
    setting.text = boolean->get() ? "true" : "false";
  } else if (const auto* whole = node.as_integer()) {
    setting.kind = Setting::Kind::whole;
    setting.text = fmt::format("{}", whole->get());
  } else if (const auto* number = node.as_floating_point()) {
    setting.kind = Setting::Kind::number;
    double value = number->get();
    setting.text = value_text(&value);
  } else if (const auto* list = node.as_array(); list != nullptr && list_text(*list)) {
    setting.kind = Setting::Kind::list;
    setting.text = *list_text(*list);
  } else if (list != nullptr) {
    setting.kind = Setting::Kind::array;
  } else {
    setting.kind = Setting::Kind::other;
  }
  setting.shown = toml_line(node);
  return setting;
}

/// Adds a fault for each key that one source gives both by an earlier and by its present name.
/// Which value holds would depend on two lines that do not look like the same key.
void require_one_name(const std::vector<Setting>& settings, std::vector<std::string>& faults) {
  for (auto later = settings.begin(); later != settings.end(); ++later) {
    const auto earlier = std::find_if(settings.begin(), later, [&](const Setting& setting) {
      return setting.key == later->key && setting.written != later->written;
    });
    if (earlier != later)
      faults.push_back(fmt::format("{}: {} and {} ({}) are one key: keep only {}", later->where,
                                   later->written, earlier->written, earlier->where, later->key));
  }
}

}  // namespace

std::vector<Setting> settings_of_toml(const std::string& text, const std::string& name,
                                      std::vector<std::string>& faults) {
  std::vector<Setting> settings;
  if (const auto fault = find_toml_fault(text)) {
    faults.push_back(fmt::format("{}:{}: not TOML: {}", name, fault->line, fault->what));
    return settings;
  }
  toml::table file;
  try {
    file = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    faults.push_back(
        fmt::format("{}:{}: not TOML: {}", name, e.source().begin.line, e.description()));
    return settings;
  }
  // A key outside sections gets a name without a point, which no key has, and is reported as
  // unknown.
  for (const auto& [section, node] : file) {
    const std::string prefix(section.str());
    const auto* table = node.as_table();
    if (table == nullptr) {
      settings.push_back(setting_of(prefix, node, name));
      continue;
    }
    for (const auto& [key, value] : *table) {
      settings.push_back(setting_of(fmt::format("{}.{}", prefix, key.str()), value, name));
    }
  }
  std::ranges::stable_sort(settings, {}, &Setting::line);  // toml++ sorts keys by name
  require_one_name(settings, faults);
  return settings;
}

// The first "=" divides key and value, so a value may hold more of them.
std::vector<Setting> settings_of_overrides(std::span<const std::string> overrides,
                                           std::vector<std::string>& faults) {
  std::vector<Setting> settings;
  for (const std::string& override_text : overrides) {
    const auto equals = override_text.find('=');
    if (equals == std::string::npos || equals == 0) {
      faults.push_back(
          fmt::format("command line: \"{}\" is not of the form key=value", override_text));
      continue;
    }
    const std::string value = override_text.substr(equals + 1);
    const std::string key = override_text.substr(0, equals);
    settings.push_back({.key = current_name(key),
                        .written = key,
                        .text = value,
                        .shown = value,
                        .where = "command line"});
  }
  require_one_name(settings, faults);
  return settings;
}

std::optional<std::string> file_text(const std::filesystem::path& file) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (std::filesystem::is_directory(file, error) || !in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace penstock::configs
