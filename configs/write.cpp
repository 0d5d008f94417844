#include "configs/write.h"

#include "configs/value.h"

namespace penstock {
namespace {

/// A basic TOML string.
std::string quoted(const std::string& text) {
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

std::string toml_value(const Value& value) {
  const std::string text = value_text(value);
  if (std::holds_alternative<std::string*>(value)) return quoted(text);
  const bool real = std::holds_alternative<double*>(value);
  return real && text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string config_reference() {
  Config defaults;
  std::string out;
  std::string_view section;
  for (const Key& key : keys(defaults)) {
    if (key.section() != section) {
      section = key.section();
      out.append("\n## [").append(section).append("]\n\n");
      out += "| key | takes | default | meaning |\n|---|---|---|---|\n";
    }
    out.append("| `").append(key.name).append("` | ").append(expectation(key)).append(" | `");
    out.append(toml_value(key.value))
        .append("` | ")
        .append(key.help)
        .append(key.kept() ? " †" : "")
        .append(" |\n");
  }
  return out;
}

}  // namespace penstock
