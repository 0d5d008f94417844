#include "tools/table.h"

#include <algorithm>

namespace penstock::tools {
namespace {

/// Characters of UTF-8 text.
std::size_t width(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,+- %") == std::string::npos;
}

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> numbers;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    numbers.resize(widths.size(), rows.size() > 1);
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width(row[c]));
      if (&row != &rows.front() && !row[c].empty() && !is_number(row[c])) numbers[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(widths[c] - width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += numbers[c] ? gap + row[c] : row[c] + gap;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace penstock::tools
