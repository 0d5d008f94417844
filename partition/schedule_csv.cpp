#include "partition/schedule_csv.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "configs/config.h"
#include "partition/edge.h"
#include "partition/schedule_csv/cell.h"
#include "partition/schedules/complete.h"

namespace penstock {
namespace {

using Rows = std::vector<std::vector<Cell>>;

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
      for (const Cell& cell : parse_cell(trimmed(line.substr(0, end)))) row.push_back(cell);
    } catch (const ConfigError& error) {
      throw ConfigError(where + ", column " + std::to_string(column) + ": " + error.what());
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return row;
}

Rows parse_rows(std::string_view text, const std::string& name) {
  Rows rows;
  while (!trimmed(text).empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string where = name + ": row " + std::to_string(rows.size() + 1);
    rows.push_back(parse_row(trimmed(text.substr(0, end)), where));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.find_first_not_of(" \t\r\n") == text.npos) break;
  }
  return rows;
}

bool occurs(const Rows& rows, CellKind kind) {
  return std::ranges::any_of(
      rows, [&](const auto& row) { return std::ranges::count(row, kind, &Cell::kind) > 0; });
}

ActionKind kind_of(CellKind kind, bool b_is_whole) {
  switch (kind) {
    case CellKind::F:
      return ActionKind::forward;
    case CellKind::B:
      return b_is_whole ? ActionKind::backward : ActionKind::backward_input;
    case CellKind::I:
      return ActionKind::backward_input;
    case CellKind::W:
      return ActionKind::backward_weight;
    case CellKind::BW:
      return ActionKind::backward;
    case CellKind::SEND_F:
      return ActionKind::send_activation;
    case CellKind::RECV_F:
      return ActionKind::receive_activation;
    case CellKind::SEND_B:
      return ActionKind::send_gradient;
    case CellKind::RECV_B:
      break;
  }
  return ActionKind::receive_gradient;
}

/// Where each chunk is first named.
std::vector<int> holders(const Rows& rows, const std::string& name) {
  std::map<int, int> ranks;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (const Cell& cell : rows[rank]) ranks.try_emplace(cell.chunk, static_cast<int>(rank));
  }
  std::vector<int> chunk_rank;
  for (const auto& [chunk, rank] : ranks) {
    if (chunk != static_cast<int>(chunk_rank.size())) {
      throw ConfigError(name + ": no row has an action of stage " +
                        std::to_string(chunk_rank.size()) + ", but row " +
                        std::to_string(rank + 1) + " has one of stage " + std::to_string(chunk));
    }
    chunk_rank.push_back(rank);
  }
  if (chunk_rank.empty()) throw ConfigError(name + ": holds no actions");
  return chunk_rank;
}

bool any_transfer(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const auto& list) {
    return std::ranges::any_of(
        list, [](const Action& a) { return is_send(a.kind) || is_receive(a.kind); });
  });
}

}  // namespace

Schedule parse_schedule_csv(std::string_view text, const std::string& name) {
  const Rows rows = parse_rows(text, name);
  const bool b_is_whole = occurs(rows, CellKind::I) || !occurs(rows, CellKind::W);
  Schedule schedule{.name = name, .chunk_rank = holders(rows, name)};
  schedule.forward_only = !occurs(rows, CellKind::B) && !occurs(rows, CellKind::I) &&
                          !occurs(rows, CellKind::W) && !occurs(rows, CellKind::BW);
  for (const auto& row : rows) {
    auto& list = schedule.ranks.emplace_back();
    for (const Cell& cell : row) {
      list.push_back({kind_of(cell.kind, b_is_whole), cell.chunk, cell.micro_batch});
      schedule.micro_batches = std::max(schedule.micro_batches, cell.micro_batch + 1);
    }
  }
  return any_transfer(schedule) ? with_ends(std::move(schedule)) : complete(std::move(schedule));
}

Schedule read_schedule_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw ConfigError(path.string() + ": can't be read, or is empty; expected a schedule as CSV");
  }
  return parse_schedule_csv(text.str(), path.string());
}

std::string schedule_csv(const Schedule& schedule) {
  std::string text;
  for (const auto& list : schedule.ranks) {
    std::string row;
    for (const Action& action : list) {
      if (computes(action.kind)) row += (row.empty() ? "" : ",") + cell_text(action);
    }
    text += row + "\n";
  }
  return text;
}

}  // namespace penstock
