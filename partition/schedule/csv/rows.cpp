#include "partition/schedule/csv/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"

// The format is that of PyTorch's pipelining schedules: a row for each rank, a column for each time
// step, and in a cell the stage, the action and the micro-batch. Empty cells are idle time.
//
//   0F0,0F1,,0BW0,,0BW1
//   ,1F0,1BW0,1F1,1BW1
//
// A cell may hold two actions that overlap, (0F7;7B3)OVERLAP_F_B, which become one after the other.
// Columns are kept for errors only: times follow from costs, not from the file.

namespace penstock::partition {
namespace {

using Letters = std::pair<std::string_view, CellKind>;

constexpr std::array kLetters{
    Letters{"F", CellKind::F},           Letters{"B", CellKind::B},
    Letters{"I", CellKind::I},           Letters{"W", CellKind::W},
    Letters{"BW", CellKind::BW},         Letters{"SEND_F", CellKind::SEND_F},
    Letters{"RECV_F", CellKind::RECV_F}, Letters{"SEND_B", CellKind::SEND_B},
    Letters{"RECV_B", CellKind::RECV_B}};

constexpr std::string_view kDigits = "0123456789";
// A count is the number plus 1, so the largest number is one less than the largest int.
constexpr int kMax = std::numeric_limits<int>::max() - 1;

std::optional<int> whole_number(std::string_view digits) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (digits.empty() || error != std::errc() || end != digits.end() || number > kMax)
    return std::nullopt;
  return number;
}

/// Parses digits, letters and digits, such as 0F3. Returns nothing for any other text.
std::optional<Cell> parse_action(std::string_view text) {
  const auto letters_at = std::min(text.find_first_not_of(kDigits), text.size());
  const auto number_at = text.find_last_not_of(kDigits) + 1;
  if (number_at < letters_at) return std::nullopt;  // the text is digits alone
  const auto chunk = whole_number(text.substr(0, letters_at));
  const auto batch = whole_number(text.substr(number_at));
  const auto letters = text.substr(letters_at, number_at - letters_at);
  const auto known = std::ranges::find(kLetters, letters, &Letters::first);
  if (!chunk || !batch || known == kLetters.end()) return std::nullopt;
  return Cell{*chunk, known->second, *batch};
}

/// Returns the text between the brackets of an overlap, or the text itself if it is no overlap.
std::string_view parts_of(std::string_view text) {
  const auto close = text.find(')');
  if (!text.starts_with('(') || close == text.npos) return text;
  return text.substr(close + 1).starts_with("OVERLAP") ? text.substr(1, close - 1) : text;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// Parses the cells of a line. Errors name the row and the column, counted from 1.
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

std::vector<Cell> parse_cell(std::string_view text) {
  std::vector<Cell> cells;
  std::string_view rest = parts_of(text);
  while (!rest.empty()) {
    const auto end = std::min(rest.find(';'), rest.size());
    const auto cell = parse_action(rest.substr(0, end));
    if (!cell || (end < rest.size() && parts_of(text) == text)) {
      throw ConfigError(fmt::format(
          "\"{}\" is no action: expected [stage][action][micro-batch], as 0F3, with F, "
          "B, I, W, BW, SEND_F, RECV_F, SEND_B or RECV_B and numbers up to 2147483646; nothing; or "
          "(0F7;7B3)OVERLAP_F_B",
          text));
    }
    cells.push_back(*cell);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return cells;
}

std::string cell_text(const Action& action) {
  const auto letters = [&] {
    switch (action.kind) {
      case ActionKind::forward:
        return "F";
      case ActionKind::backward_input:
        return "B";
      case ActionKind::backward_weight:
        return "W";
      default:
        return "BW";
    }
  };
  return fmt::format("{}{}{}", action.chunk, letters(), action.micro_batch);
}

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
