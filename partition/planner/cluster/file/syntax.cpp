#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/name_match.h"
#include "configs/toml_check.h"
#include "configs/toml_line.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cluster/file/cluster_source.h"

// A cluster file looks like this; docs/cluster-file.md explains its keys:
//
//   margin = 0.1                        # of each device's memory
//   [kinds.h100]
//   device = "h100"                     # or memory_gib and speed
//   [[node]]
//   name = "gpu"
//   count = 2
//   devices = { h100 = 8 }
//   within = { latency_us = 5, gb_per_s = 200 }
//   [between]                           # or [[link]] tables, or one [matrix]
//   latency_us = 10
//   gb_per_s = 40
//
// Reading goes on after a fault with a harmless value, so that one run names all faults and no
// fault causes another. The result is used only if there are none.

namespace penstock::partition {
namespace {

constexpr int kMaxDevicesOfNode = 1 << 10;
constexpr int kMaxDevices = 1 << 12;  // each pair of their nodes has a link

/// Returns the line where the node's value begins, counted from 1.
int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// Returns NaN if the node is not a number.
double number_of(const toml::node& node) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  return node.is_number() ? node.value_or(none) : none;
}

/// The range of a number.
struct Least {
  double value = 0;
  bool above = false;  // true if `value` itself is not allowed
  double max = std::numeric_limits<double>::infinity();
  std::string_view beyond = {};  // hint at the likely mistake if a number is too large

  bool allows(double number) const {
    return std::isfinite(number) && number <= max && (above ? number > value : number >= value);
  }
  /// Describes the allowed range for a message about `number`. If there is a hint, the maximum is
  /// mentioned only for numbers above it.
  std::string text(double number) const {
    const bool tells_most = beyond.empty() ? !std::isinf(max) : number > max;
    return fmt::format(
        "a number {} {}{}", above ? "above" : "of at least", value,
        tells_most ? fmt::format(" and at most {}{}{}", max, beyond.empty() ? "" : "; ", beyond)
                   : "");
  }
};

/// Keys takes the keys of one TOML table one by one. The keys that are not taken are unknown.
class Keys {
 public:
  Keys(const toml::table& table, ClusterSource& source, std::string where)
      : table_(table), source_(source), where_(std::move(where)) {}

  const toml::node* find(std::string_view key) {
    taken_.push_back(key);
    return table_.get(key);
  }
  /// Returns null, after adding a fault, if the key is missing.
  const toml::node* need(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr)
      source_.fault(line_of(table_), fmt::format("{}{} is missing", where_, key));
    return node;
  }
  /// Adds a fault that shows the value as the file has it.
  void expect(const toml::node& node, std::string_view key, const std::string& what) {
    const std::string shown = node.is_table() ? "a table" : configs::toml_line(node);
    source_.fault(line_of(node),
                  fmt::format("{}{} = {}, but it takes {}", where_, key, shown, what));
  }
  /// Returns a required number, or 1 after a fault. Nothing uses the 1, as the cluster is refused.
  double number(std::string_view key, const Least& min) {
    const toml::node* node = need(key);
    if (node == nullptr) return 1;
    const double value = number_of(*node);
    if (min.allows(value)) return value;
    expect(*node, key, min.text(value));
    return 1;
  }
  std::string text(std::string_view key) {
    const toml::node* node = need(key);
    if (node == nullptr) return {};
    if (node->is_string() && !node->as_string()->get().empty()) return node->as_string()->get();
    expect(*node, key, "text");
    return {};
  }
  /// Returns a whole number from 1 to `max`, or 1 after a fault. A number with a point is a fault
  /// too.
  int count(std::string_view key, const toml::node& node, int max) {
    const auto value = node.value_exact<std::int64_t>();
    if (value && *value >= 1 && *value <= max) return static_cast<int>(*value);
    expect(node, key, fmt::format("a whole number from 1 to {}", max));
    return 1;
  }
  /// Returns the node as a table, or null if it is absent or, after a fault, something else.
  /// [[key]] for [key] is a likely mistake and has its own message.
  const toml::table* table(std::string_view key, const toml::node* node) {
    if (node == nullptr || node->is_table()) return node == nullptr ? nullptr : node->as_table();
    if (node->is_array_of_tables())
      source_.fault(line_of(*node), fmt::format("[[{0}]] has one pair of brackets too many: there "
                                                "is one table {0}, written [{0}]",
                                                key));
    else
      expect(*node, key, "a table");
    return nullptr;
  }
  /// Returns the tables of [[key]], or none if the key is absent.
  std::vector<const toml::table*> tables(std::string_view key) {
    const toml::node* node = find(key);
    std::vector<const toml::table*> result;
    if (node == nullptr) return result;
    if (node->is_table()) {
      source_.fault(line_of(*node), fmt::format("[{0}] needs a second pair of brackets, also where "
                                                "there is only one: write [[{0}]]",
                                                key));
      return result;
    }
    if (!node->is_array_of_tables()) {
      expect(*node, key, fmt::format("[[{}]] tables", key));
      return result;
    }
    for (const toml::node& item : *node->as_array()) result.push_back(item.as_table());
    return result;
  }
  /// Adds a fault for each key that was not taken, with the nearest of those that could have been.
  void require_nothing_more() {
    for (const auto& [key, node] : table_) {
      if (std::ranges::count(taken_, key.str()) != 0) continue;
      source_.fault(
          static_cast<int>(key.source().begin.line),
          fmt::format("unknown key {}{}{}", where_, key.str(), did_you_mean(key.str(), taken_)));
    }
  }

 private:
  const toml::table& table_;
  ClusterSource& source_;
  std::string where_;  // such as "node."
  std::vector<std::string_view> taken_;
};

// The maxima catch wrong units: no link has a latency of 10 seconds, and none moves 10^15 bytes a
// second.
constexpr Least kLatency{.value = 0, .max = 1e7, .beyond = "is that in nanoseconds?"};
constexpr Least kBandwidth{.value = 0,
                           .above = true,
                           .max = 1e6,
                           .beyond = "is that in bytes a second? GB a second are 10^9 of them"};
constexpr Least kMemory{.value = 0,
                        .above = true,
                        .max = kUnlimitedGib,
                        .beyond = "is that in bytes? A GiB has 2^30 of them"};
constexpr Least kSpeed{.value = 0,
                       .above = true,
                       .max = 1e6,
                       .beyond =
                           "it is how many times as fast as the device that costs were "
                           "measured on"};

LinkRates take_rates(Keys& keys) {
  const double latency = keys.number("latency_us", kLatency);
  return rates_of(latency, keys.number("gb_per_s", kBandwidth));
}

/// Reads a table that has a latency and a bandwidth alone, such as [between].
LinkRates rates_table(const toml::table& table, ClusterSource& source, const std::string& where) {
  Keys keys(table, source, where + ".");
  const LinkRates rates = take_rates(keys);
  keys.require_nothing_more();
  return rates;
}

/// Reads a device kind. If it names a device, memory and speed may be left out: they follow from
/// the device.
DeviceModel kind_of(const std::string& name, const toml::table& table, ClusterSource& source) {
  Keys keys(table, source, fmt::format("kinds.{}.", name));
  DeviceModel kind{.name = name, .line = line_of(table)};
  if (keys.find("device") != nullptr) kind.device = keys.text("device");
  const bool alone = kind.device.empty();
  if (alone || keys.find("memory_gib") != nullptr)
    kind.memory_gib = keys.number("memory_gib", kMemory);
  if (alone || keys.find("speed") != nullptr) kind.speed = keys.number("speed", kSpeed);
  if (keys.find("host_gb_per_s") != nullptr)
    kind.host_bandwidth = 1e9 * keys.number("host_gb_per_s", kBandwidth);
  if (keys.find("price_per_hour") != nullptr)
    kind.price_per_hour = keys.number("price_per_hour", {.value = 0, .above = true});
  keys.require_nothing_more();
  return kind;
}

/// Returns the keys of a table in the order of the file. toml++ keeps them sorted by name.
std::vector<std::pair<const toml::key*, const toml::node*>> in_file_order(
    const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::ranges::stable_sort(entries, {}, [](const auto& entry) {
    const toml::source_position& at = entry.first->source().begin;
    return std::pair(at.line, at.column);
  });
  return entries;
}

/// Reads a [[node]]. A node may have at most as many adapters as devices.
NodeGroup group_of(const toml::table& table, ClusterSource& source) {
  Keys keys(table, source, "node.");
  NodeGroup group{.name = keys.text("name"), .line = line_of(table)};
  if (const toml::node* count = keys.find("count"))
    group.count = keys.count("count", *count, kMaxDevices);
  if (const auto* devices = keys.table("devices", keys.need("devices"))) {
    for (const auto& [kind, count] : in_file_order(*devices))
      group.devices.emplace_back(kind->str(), keys.count("devices", *count, kMaxDevicesOfNode));
    if (devices->empty()) source.fault(line_of(*devices), "node.devices is empty");
  }
  if (const auto* within = keys.table("within", keys.find("within")))
    group.within = rates_table(*within, source, "node.within");
  int devices = 0;
  for (const auto& [kind, count] : group.devices) devices += count;
  if (const toml::node* adapters = keys.find("adapters"))
    group.adapters = keys.count("adapters", *adapters, std::max(1, devices));
  keys.require_nothing_more();
  return group;
}

NodeLink link_of(const toml::table& table, ClusterSource& source) {
  Keys keys(table, source, "link.");
  NodeLink link{.nodes = {}, .rates = take_rates(keys), .line = line_of(table)};
  const toml::node* nodes = keys.need("nodes");
  if (nodes != nullptr && nodes->is_array())
    for (const toml::node& name : *nodes->as_array())
      link.nodes.push_back(name.value_or(std::string()));
  if (nodes != nullptr && link.nodes.size() != 2) keys.expect(*nodes, "nodes", "two nodes' names");
  keys.require_nothing_more();
  return link;
}

/// Reads a matrix of numbers. Its shape is checked later, against the number of devices. The
/// diagonal may hold any number, since a device sends nothing to itself.
std::vector<std::vector<double>> rows_of(Keys& keys, std::string_view key, const Least& min) {
  const toml::node* node = keys.need(key);
  std::vector<std::vector<double>> rows;
  if (node == nullptr) return rows;
  if (!node->is_array()) {
    keys.expect(*node, key, "a list of lists of numbers");
    return rows;
  }
  for (const toml::node& row : *node->as_array()) {
    auto& numbers = rows.emplace_back();
    if (!row.is_array()) {
      keys.expect(row, fmt::format("{}[{}]", key, rows.size() - 1), "a list of numbers");
      continue;
    }
    for (const toml::node& item : *row.as_array()) {
      const bool own = numbers.size() + 1 == rows.size();  // from a device to itself: ignored
      const double value = number_of(item);
      if (std::isnan(value) || (!own && !min.allows(value)))
        keys.expect(item, fmt::format("{}[{}][{}]", key, rows.size() - 1, numbers.size()),
                    min.text(value));
      numbers.push_back(std::isnan(value) ? 1 : value);
    }
  }
  return rows;
}

LinkMatrix matrix_of(const toml::table& table, ClusterSource& source) {
  Keys keys(table, source, "matrix.");
  LinkMatrix matrix{.latency_us = rows_of(keys, "latency_us", kLatency),
                    .gb_per_s = rows_of(keys, "gb_per_s", kBandwidth),
                    .line = line_of(table)};
  keys.require_nothing_more();
  return matrix;
}

/// Counts in 64 bits, as count and devices are each in range but their product may not be an int.
void require_few_devices(ClusterSource& source) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : source.groups)
    for (const auto& [kind, count] : group.devices) devices += std::int64_t{group.count} * count;
  if (devices > kMaxDevices)
    source.fault(source.groups.back().line,
                 fmt::format("the cluster has {} devices, but a plan takes at most {}: lower "
                             "node.count or node.devices",
                             devices, kMaxDevices));
}

void read(const toml::table& file, ClusterSource& source) {
  Keys keys(file, source, "");
  if (file.contains("margin")) source.margin = keys.number("margin", {.value = 0, .max = 0.9});
  if (file.contains("overlap")) source.overlap = keys.number("overlap", {.value = 0, .max = 1});
  if (const auto* kinds = keys.table("kinds", keys.need("kinds")))
    for (const auto& [name, node] : *kinds)
      if (const auto* kind = keys.table("kinds", &node))
        source.kinds.push_back(kind_of(std::string(name.str()), *kind, source));
  for (const toml::table* node : keys.tables("node"))
    source.groups.push_back(group_of(*node, source));
  if (const auto* between = keys.table("between", keys.find("between")))
    source.between = rates_table(*between, source, "between");
  for (const toml::table* link : keys.tables("link"))
    source.links.push_back(link_of(*link, source));
  if (const auto* matrix = keys.table("matrix", keys.find("matrix")))
    source.matrix = matrix_of(*matrix, source);
  keys.require_nothing_more();
  require_few_devices(source);
  if (source.groups.empty() && source.faults.empty())
    source.fault(1, "a cluster needs at least one [[node]]");
}

}  // namespace

LinkRates rates_of(double latency_us, double gb_per_s) {
  return {.latency = latency_us * 1e-6, .bandwidth = gb_per_s * 1e9};
}

void ClusterSource::fault(int line, const std::string& what) {
  faults.push_back(fmt::format("{}:{}: {}", name, line, what));
}

ClusterSource cluster_of_toml(const std::string& text, const std::string& name) {
  ClusterSource source;
  source.name = name;
  if (const auto fault = configs::find_toml_fault(text)) {
    source.fault(fault->line, "not TOML: " + fault->what);
    return source;
  }
  try {
    read(toml::parse(text, name), source);
  } catch (const toml::parse_error& error) {
    source.fault(static_cast<int>(error.source().begin.line),
                 "not TOML: " + std::string(error.description()));
  }
  return source;
}

}  // namespace penstock::partition
