#include "configs/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/name_match.h"
#include "base/unicode.h"

namespace penstock::configs {

// Numbers are written by std::to_chars in their shortest form and read by std::from_chars. Neither
// depends on the locale, and the pair loses no bit.

namespace {

template <class T>
constexpr bool is_list =
    std::is_same_v<T, std::vector<double>> || std::is_same_v<T, std::vector<int>> ||
    std::is_same_v<T, std::vector<std::string>>;

template <class Number>
std::string number_text(Number number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

/// Returns true if the whole text is a number of that type. A minus sign, a point or an exponent is
/// a fault where the type has none.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <class Number>
bool read_item(std::string_view text, Number& number) {
  return read_number(text, number);
}

/// Returns true if blanks stand only after a colon, as in "name: number".
bool blanks_fit(const std::string& name) {
  for (std::size_t at = name.find(' '); at != std::string::npos; at = name.find(' ', at + 1))
    if (at == 0 || name[at - 1] != ':') return false;
  return true;
}

/// Reads a name, in quotes or not.
bool read_item(std::string_view text, std::string& name) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  name = quoted ? text.substr(1, text.size() - 2) : text;
  return !name.empty() && blanks_fit(name) && name.find_first_of("\t\"'[]") == std::string::npos;
}

template <class Item>
bool read_list(std::string_view text, std::vector<Item>& items) {
  text = trimmed(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = trimmed(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (!read_item(trimmed(text.substr(0, comma)), items.emplace_back())) return false;
    text = comma == std::string_view::npos ? std::string_view() : trimmed(text.substr(comma + 1));
  }
  return true;
}

template <class T>
bool read(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
    return value || text == "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = text;
    return true;
  } else if constexpr (is_list<T>) {
    return read_list(text, value);
  } else {
    return read_number(text, value);
  }
}

template <class Number>
std::string item_text(Number number) {
  return number_text(number);
}
std::string item_text(const std::string& name) { return name; }

template <class Item>
std::string list_text(const std::vector<Item>& items) {
  std::vector<std::string> texts;
  for (const Item& item : items) texts.push_back(item_text(item));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

bool allowed(const Key& key, double number) {
  const KeyRange& range = key.allowed.range;
  return std::isfinite(number) && number <= range.high &&
         (range.above_low ? number > range.low : number >= range.low);
}

/// Returns true if the value is of the choice. A choice may begin or end with a star, which stands
/// for at least one character.
bool matches(std::string_view choice, std::string_view value) {
  if (choice.starts_with('*'))
    return value.size() >= choice.size() && value.ends_with(choice.substr(1));
  if (choice.ends_with('*'))
    return value.size() >= choice.size() && value.starts_with(choice.substr(0, choice.size() - 1));
  return value == choice;
}

template <class T>
bool allowed(const Key& key, const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::vector<std::string>>) {
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (key.allowed.choices.empty()) return !(key.allowed.filled && value.empty());
    return std::ranges::any_of(key.allowed.choices,
                               [&](std::string_view choice) { return matches(choice, value); });
  } else if constexpr (is_list<T>) {
    // An empty list of whole numbers leaves an order open (trainer.order). An empty list of real
    // ones, such as data.speeds, would leave nothing to choose from.
    const bool may_be_empty = std::is_same_v<T, std::vector<int>>;
    return (may_be_empty || !value.empty()) &&
           std::ranges::all_of(value, [&](double v) { return allowed(key, v); });
  } else {
    return allowed(key, static_cast<double>(value));
  }
}

/// Formats a range as the end of "a number" or "a whole number". Limits that are infinite are left
/// out.
std::string range_text(const KeyRange& range) {
  const bool low = std::isfinite(range.low), high = std::isfinite(range.high);
  const std::string from = low ? number_text(range.low) : "",
                    to = high ? number_text(range.high) : "";
  if (low && high && range.above_low) return fmt::format(" above {}, at most {}", from, to);
  if (low && high) return fmt::format(" from {} to {}", from, to);
  if (low) return (range.above_low ? " above " : " of at least ") + from;
  return high ? " of at most " + to : "";
}

}  // namespace

std::string value_text(const KeyValue& value) {
  struct Text {
    std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
    std::string operator()(const std::string* v) const { return *v; }
    std::string operator()(const std::vector<double>* v) const { return list_text(*v); }
    std::string operator()(const std::vector<int>* v) const { return list_text(*v); }
    std::string operator()(const std::vector<std::string>* v) const { return list_text(*v); }
    std::string operator()(const std::vector<WeightedManifest>* v) const {
      return manifests_text(*v);
    }
    std::string operator()(const int* v) const { return number_text(*v); }
    std::string operator()(const std::int64_t* v) const { return number_text(*v); }
    std::string operator()(const std::uint64_t* v) const { return number_text(*v); }
    std::string operator()(const double* v) const { return number_text(*v); }
  };
  return std::visit(Text{}, value);
}

std::string expectation(const Key& key) {
  if (std::holds_alternative<bool*>(key.value)) return "true or false";
  if (std::holds_alternative<double*>(key.value)) return "a number" + range_text(key.allowed.range);
  if (std::holds_alternative<std::vector<double>*>(key.value)) {
    return fmt::format("a list of numbers{}, such as [0.9, 1]", range_text(key.allowed.range));
  }
  if (std::holds_alternative<std::vector<int>*>(key.value))
    return fmt::format("a list of whole numbers{}, such as [1, 0, 2], or []",
                       range_text(key.allowed.range));
  if (std::holds_alternative<std::vector<std::string>*>(key.value))
    return "a list of names, such as [\"norm1\", \"relu1\"]";
  if (std::holds_alternative<std::vector<WeightedManifest>*>(key.value))
    return "a path, or a list of paths, such as [\"a.jsonl\", \"b.jsonl\"]";
  if (std::holds_alternative<std::uint64_t*>(key.value)) return "a whole number of at least 0";
  if (!std::holds_alternative<std::string*>(key.value))
    return "a whole number" + range_text(key.allowed.range);
  if (key.allowed.choices.empty()) return key.allowed.filled ? "text that is not empty" : "text";
  const auto& choices = key.allowed.choices;
  return choices.size() == 1 ? fmt::format("\"{}\"", choices.front())
                             : fmt::format("one of {}", fmt::join(choices, ", "));
}

// The value is read into a variable of its own first, so a faulty text leaves the key as it was.
std::optional<std::string> set_value(const Key& key, std::string_view text) {
  if (decode_utf8(text).wrong_byte)
    return fmt::format("{} = {}, which is not UTF-8: checkpoints can't hold it", key.name, text);
  return std::visit(
      [&]<class T>(T* value) -> std::optional<std::string> {
        T read_value{};
        if constexpr (std::is_same_v<T, std::vector<WeightedManifest>>) {
          const std::string wrong = read_manifests(text, read_value);
          if (!wrong.empty()) return fmt::format("{} = {}, but {}", key.name, text, wrong);
          *value = std::move(read_value);
          return std::nullopt;
        } else if (read(text, read_value) && allowed(key, read_value)) {
          *value = std::move(read_value);
          return std::nullopt;
        }
        return fmt::format("{} = {}, but it takes {}{}", key.name, text, expectation(key),
                           did_you_mean(text, key.allowed.choices));
      },
      key.value);
}

// TOML's basic strings need escapes for quotes, backslashes and control characters; all other UTF-8
// stands as it is.
std::string toml_string(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      out += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace penstock::configs
