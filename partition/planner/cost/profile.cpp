#include "partition/planner/cost/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_nesting.h"
#include "base/name_match.h"
#include "configs/config.h"
#include "configs/source.h"

// The neutral form is what other tools measure too, one object for a layer sequence:
//
//   {"name": "VGG-16", "layers": [
//     {"name": "conv1", "forward_ms": 1.5, "backward_ms": 3.1, "activation_bytes": 4e6,
//      "parameter_bytes": 7e3, "transfer_ms": 0.3}, …]}
//
// All fields are needed, as a missing one would plan as 0. Other members are ignored, since files
// carry notes on their source.

namespace penstock::partition {
namespace {

constexpr double kMax = 1e18;  // maximum of bytes or ms

constexpr std::array<std::string_view, 7> kFields = {
    "name",       "layers", "forward_ms", "backward_ms", "activation_bytes", "parameter_bytes",
    "transfer_ms"};

/// Returns a value as text for messages. Long values are replaced by their type and size.
std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= 40 ? text : fmt::format("{} of {} bytes", value.type_name(), text.size());
}

/// SequenceReader reads on after a fault, with 0 or "" for the value, so that one run names all
/// faults of a file.
class SequenceReader {
 public:
  explicit SequenceReader(std::string file) : file_(std::move(file)) {}

  SequenceProfile sequence_of(const nlohmann::json& json) {
    SequenceProfile sequence;
    if (!json.is_object()) {
      fault("", "expected an object with name and layers, found " + shown(json));
      return sequence;
    }
    sequence.name = text(json, "name", "");
    const nlohmann::json* layers = member(json, "layers", "");
    if (layers == nullptr) return sequence;
    if (!layers->is_array() || layers->empty()) {
      fault("layers", "expected a list of at least one layer, found " + shown(*layers));
      return sequence;
    }
    for (const nlohmann::json& layer : *layers)
      sequence.layers.push_back(layer_of(layer, sequence.layers.size()));
    return sequence;
  }

  void fault(const std::string& where, const std::string& what) {
    faults.push_back(fmt::format("{}: {}{}{}", file_, where, where.empty() ? "" : ": ", what));
  }
  std::vector<std::string> faults;

 private:
  LayerProfile layer_of(const nlohmann::json& json, std::size_t number) {
    LayerProfile layer;
    std::string where = fmt::format("layers[{}]", number);
    if (!json.is_object()) {
      fault(where, "expected an object, found " + shown(json));
      return layer;
    }
    layer.name = text(json, "name", where);
    if (!layer.name.empty()) where += fmt::format(" ({})", layer.name);
    layer.forward_ms = amount(json, "forward_ms", where);
    layer.backward_ms = amount(json, "backward_ms", where);
    layer.activation_bytes = amount(json, "activation_bytes", where);
    layer.parameter_bytes = amount(json, "parameter_bytes", where);
    layer.transfer_ms = amount(json, "transfer_ms", where);
    return layer;
  }

  /// Returns null if the member is missing, after adding a fault that names the unknown key most
  /// like it.
  const nlohmann::json* member(const nlohmann::json& json, std::string_view key,
                               const std::string& where) {
    if (const auto found = json.find(key); found != json.end()) return &*found;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : json.items())
      if (std::ranges::count(kFields, name) == 0) names.push_back(name);
    const std::string near = nearest(key, names);
    fault(where, fmt::format("{} is missing{}", key,
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    return nullptr;
  }

  std::string text(const nlohmann::json& json, std::string_view key, const std::string& where) {
    const nlohmann::json* value = member(json, key, where);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    fault(where, fmt::format("{} = {}, but it takes text", key, shown(*value)));
    return {};
  }

  double amount(const nlohmann::json& json, std::string_view key, const std::string& where) {
    const nlohmann::json* value = member(json, key, where);
    if (value == nullptr) return 0;
    if (value->is_number() && value->get<double>() >= 0 && value->get<double>() <= kMax)
      return value->get<double>();
    fault(where,
          fmt::format("{} = {}, but it takes a number from 0 to {:g}", key, shown(*value), kMax));
    return 0;
  }

  std::string file_;
};

}  // namespace

SequenceProfile parse_profile(const std::string& text, const std::string& name) {
  SequenceReader reader(name);
  SequenceProfile sequence;
  if (json_nests_too_deeply(text))
    throw ConfigError(fmt::format("the profile can't be used:\n  {}: nests deeper than {}", name,
                                  kDeepestNesting));
  try {
    sequence = reader.sequence_of(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    reader.fault("", fmt::format("not JSON: {}", error.what()));
  }
  if (!reader.faults.empty()) {
    throw ConfigError(
        fmt::format("the profile can't be used:\n  {}", fmt::join(reader.faults, "\n  ")));
  }
  return sequence;
}

SequenceProfile read_profile(const std::filesystem::path& file) {
  const auto text = configs::file_text(file);
  if (!text) throw ConfigError(file.string() + ": no such profile, or it can't be read");
  return parse_profile(*text, file.string());
}

}  // namespace penstock::partition
