#include "partition/schedule/csv/schedule_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/csv/rows.h"
#include "partition/schedule/edge.h"

// A file's cells become actions one by one. Only B needs to know the whole file: it stands for both
// gradients, unless W occurs without I. Chunks have no rank of their own in the format, so the
// first row that names a chunk is its rank, and chunks must be numbered without gaps. A file with
// transfers is taken at its word and gets reduces and steps; one without gets its transfers from
// complete().

namespace penstock::partition {
namespace {

using Rows = std::vector<std::vector<Cell>>;

bool occurs(const Rows& rows, CellKind kind) {
  return std::ranges::any_of(
      rows, [&](const auto& row) { return std::ranges::count(row, kind, &Cell::kind) > 0; });
}

/// Returns the action of a cell. `b_is_whole` is true if the file's B stands for both gradients.
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

/// Returns the rank of each chunk: the first row that names it.
std::vector<int> holders(const Rows& rows, const std::string& name) {
  std::map<int, int> ranks;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (const Cell& cell : rows[rank]) ranks.try_emplace(cell.chunk, static_cast<int>(rank));
  }
  std::vector<int> chunk_rank;
  for (const auto& [chunk, rank] : ranks) {
    if (chunk != static_cast<int>(chunk_rank.size())) {
      throw ConfigError(
          fmt::format("{}: no row has an action of stage {}, but row {} has one of stage {}", name,
                      chunk_rank.size(), rank + 1, chunk));
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
  for (const auto& row : rows) {
    auto& list = schedule.ranks.emplace_back();
    for (const Cell& cell : row) {
      list.push_back({kind_of(cell.kind, b_is_whole), cell.chunk, cell.micro_batch});
      schedule.micro_batches = std::max(schedule.micro_batches, cell.micro_batch + 1);
    }
  }
  return any_transfer(schedule) ? with_ends(std::move(schedule)) : complete(std::move(schedule));
}

std::string schedule_csv(const Schedule& schedule) {
  std::string text;
  for (const auto& list : schedule.ranks) {
    std::vector<std::string> row;
    for (const Action& action : list)
      if (computes(action.kind)) row.push_back(cell_text(action));
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

}  // namespace penstock::partition
