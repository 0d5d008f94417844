#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "configs/config.h"

namespace penstock {

/// Where a key's value lies in a Config; the alternative is the key's type.
using Value = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                           std::vector<double>*, std::vector<int>*, std::vector<std::string>*>;

/// What a number may be; of a list, every number in it.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // `low` itself is not allowed
};

struct Allowed {
  std::vector<std::string_view> choices = {};  // of text; empty: any
  Range range = {};                            // of numbers
  bool filled = false;                         // text must not be empty
};

/// All that is known of one key. Loading, command-line overrides, checkpoints, the dump and
/// docs/configuration.md all follow from these.
struct Key {
  std::string_view name;  // "<section>.<key>"
  Value value;
  Allowed allowed;
  std::string_view help;  // one line

  /// Whether a run that resumes must have the value it began with.
  bool kept() const;
  std::string_view section() const { return name.substr(0, name.find('.')); }
  std::string_view leaf() const { return name.substr(name.find('.') + 1); }
};

/// Every key in the order of config.h, bound to `config`, which must outlive the result.
std::vector<Key> keys(Config& config);

/// The key of that name, or nothing.
std::optional<Key> find_key(Config& config, std::string_view name);

}  // namespace penstock
