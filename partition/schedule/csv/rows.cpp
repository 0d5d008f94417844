#include "partition/schedule/csv/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "configs/config.h"

namespace penstock::partition {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<Cell> parse_row(std::string_view line, const std::string& where) {
  std::vector<Cell> row;
  for (int column = 1; !line.empty(); ++column) {
    const auto end = std::min(line.find(','), line.size());
    try {
      for (Cell& cell : parse_cell(trimmed(line.substr(0, end)))) {
        cell.column = column;
        row.push_back(cell);
      }
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}, column {}: {}", where, column, error.what()));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return row;
}

}  // namespace

std::vector<std::vector<Cell>> parse_rows(std::string_view text, const std::string& name) {
  std::vector<std::vector<Cell>> rows;
  while (!trimmed(text).empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string where = fmt::format("{}: row {}", name, rows.size() + 1);
    rows.push_back(parse_row(trimmed(text.substr(0, end)), where));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.find_first_not_of(" \t\r\n") == text.npos) break;
  }
  return rows;
}

}  // namespace penstock::partition
