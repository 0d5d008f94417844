#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {

/// One of several manifests to train on. Its share of an epoch is proportional to its weight; see
/// Mixture.
struct WeightedManifest {
  std::string manifest;
  double weight = 1;
  std::string group = {};  // such as a language, whose manifests share its part; empty: none
  bool operator==(const WeightedManifest&) const = default;
};

/// Pointer to a key's value. The alternative is the key's type.
using KeyValue = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                              std::vector<double>*, std::vector<int>*, std::vector<std::string>*,
                              std::vector<WeightedManifest>*>;

/// Range of a number. For a list, it holds for every number in it.
struct KeyRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // `low` itself is not allowed
};

struct Allowed {
  std::vector<std::string_view> choices = {};  // for text; empty: any; "*END", "BEGIN*": any such
  KeyRange range = {};                         // for numbers
  bool filled = false;                         // text must not be empty
};

/// These functions build the Allowed of a key's declaration.
inline Allowed anything() { return {}; }
inline Allowed filled_text() { return {.filled = true}; }
inline Allowed one_of(std::vector<std::string_view> choices) {
  return {.choices = std::move(choices)};
}
inline Allowed at_least(double low) { return {.range = {.low = low}}; }
inline Allowed between(double low, double high) { return {.range = {low, high, false}}; }
inline Allowed above(double low, double high = KeyRange().high) {
  return {.range = {low, high, true}};
}

/// Upper bound of channels, far above any real model. It catches typing errors at the key rather
/// than at the first failure that follows.
inline constexpr double kMaxChannels = 65536;
inline constexpr double kMaxClasses = 262144;  // vocabularies of language models have 152,000

/// One key of a recipe. Loading, command-line overrides, checkpoints, the dump and
/// docs/configuration.md all follow from these.
struct Key {
  std::string_view name;  // "<section>.<key>"
  KeyValue value;
  Allowed allowed;
  std::string_view help;  // one line

  Key(std::string_view key_name, KeyValue place, Allowed what, std::string_view line)
      : name(key_name), value(place), allowed(std::move(what)), help(line) {}

  std::string_view section() const { return name.substr(0, name.find('.')); }
  std::string_view leaf() const { return name.substr(name.find('.') + 1); }
};

/// A key whose value contradicts others, and why.
struct Contradiction {
  std::string_view key;
  std::string what;
};

}  // namespace penstock
