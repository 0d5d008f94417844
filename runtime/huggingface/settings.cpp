#include "runtime/huggingface/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"

// Settings are a JSON file without its nesting. An object's keys are joined by dots, and each value
// stays JSON text, so a text differs from a number:
//
//   {"encoder_config": {"hidden_size": 1024, "hidden_act": "silu"}}
//   encoder_config.hidden_size    1024
//   encoder_config.hidden_act     "silu"
//
// Lists are values. Writing goes the other way. Objects keep the order of their keys, so a file
// with a few changed settings reads as before.

namespace penstock::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

void flatten_json(const OrderedJson& object, const std::string& prefix, Settings& settings) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      flatten_json(value, prefix + key + ".", settings);
    } else {
      settings[prefix + key] = value.dump();
    }
  }
}

OrderedJson object_of_file(const std::filesystem::path& file) try {
  OrderedJson json = OrderedJson::parse(json_text_of_file(file));
  if (!json.is_object()) throw_fault(file, "holds no JSON object");
  return json;
} catch (const OrderedJson::exception& error) {
  throw_fault(file, fmt::format("can't be read as JSON: {}", error.what()));
}

void set_values(OrderedJson& json, const Settings& settings) {
  for (const auto& [path, text] : settings) {
    OrderedJson* object = &json;
    std::size_t begin = 0;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
      object = &(*object)[path.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    (*object)[path.substr(begin)] = OrderedJson::parse(text);
  }
}

}  // namespace

Settings read_settings(const std::filesystem::path& file) {
  Settings settings;
  flatten_json(object_of_file(file), "", settings);
  return settings;
}

std::string text_with_settings(const std::filesystem::path& file, const Settings& changes) {
  OrderedJson json = object_of_file(file);
  set_values(json, changes);
  return json.dump(2) + "\n";
}

std::string to_json_text(const Settings& settings) {
  OrderedJson json = OrderedJson::object();
  set_values(json, settings);
  return json.dump(2) + "\n";
}

bool same_json(std::string_view a, std::string_view b) {
  return OrderedJson::parse(a) == OrderedJson::parse(b);
}

// An example that is a whole number above 0 is a size, so the value must be one too. If the example
// is any other number, the value may be any number.
std::string_view kind_missed(std::string_view json, std::string_view example) {
  const OrderedJson value = OrderedJson::parse(json), like = OrderedJson::parse(example);
  const auto whole = [](const OrderedJson& number) {
    return number.is_number_integer() && number > 0;
  };
  if (whole(like)) return whole(value) ? "" : "a whole number above 0";
  if (like.is_number()) return value.is_number() ? "" : "a number";
  if (like.is_boolean()) return value.is_boolean() ? "" : "true or false";
  if (like.is_string()) return value.is_string() ? "" : "a text";
  return value.is_array() && std::ranges::all_of(value, whole) ? ""
                                                               : "a list of whole numbers above 0";
}

std::string plain_text(std::string_view json) {
  const OrderedJson value = OrderedJson::parse(json);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> items_of_json_list(std::string_view json) {
  std::vector<std::string> items;
  const OrderedJson list = OrderedJson::parse(json);
  if (!list.is_array()) return items;
  for (const OrderedJson& item : list) items.push_back(item.dump());
  return items;
}

std::string quoted_json(std::string_view text) { return OrderedJson(text).dump(); }

}  // namespace penstock::runtime
