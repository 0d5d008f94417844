#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/source.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/csv/rows.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/validator/unsound.h"
#include "partition/schedule/validator/validator.h"

// validate() names faults by positions in a complete schedule, but a reader of the file knows
// cells. The file may have left out transfers, reductions and steps, which parsing added. Those
// have no cell, so they are named by the computation that they serve: a receive comes before it,
// and a send or a reduction after it.

namespace penstock::partition {
namespace {

bool is_transfer(ActionKind kind) { return is_send(kind) || is_receive(kind); }

/// Cells maps positions in the lists back to rows and columns of the text, for error messages.
class Cells {
 public:
  Cells(const Schedule& schedule, std::vector<std::vector<Cell>> rows)
      : schedule_(schedule), rows_(std::move(rows)) {
    std::size_t cells = 0, computations = 0;
    for (const auto& row : rows_) cells += row.size();
    for (const auto& list : schedule.ranks)
      computations += std::ranges::count_if(list, computes, &Action::kind);
    has_transfers_ = cells > computations;
  }

  /// Returns, for example, "row 1, column 3 (rank 0, forward of micro-batch 2 on chunk 0)".
  std::string describe(const Position& position) const {
    return fmt::format("row {}, {} (rank {}, {})", position.rank + 1, column(position),
                       position.rank, partition::describe(action(position)));
  }

  /// Returns, for example, "column 3 (forward of micro-batch 2 on chunk 0)".
  std::string describe_in_row(const Position& position) const {
    return fmt::format("{} ({})", column(position), partition::describe(action(position)));
  }

 private:
  const Action& action(const Position& position) const {
    return schedule_.ranks[position.rank][position.index];
  }

  /// Returns true if the text has a cell for the action, false if parsing added the action.
  bool has_cell(const Action& action) const {
    return computes(action.kind) || (has_transfers_ && is_transfer(action.kind));
  }

  std::string column(const Position& position) const {
    const Action& it = action(position);
    const auto& list = schedule_.ranks[position.rank];
    if (it.kind == ActionKind::step) return "at its end";
    if (has_cell(it)) return fmt::format("column {}", column_of(position));
    if (is_receive(it.kind)) return fmt::format("before column {}", column_of(taker(position)));
    std::size_t before = position.index;  // sends and reductions follow a computation
    while (before > 0 && !has_cell(list[before])) --before;
    return fmt::format("after column {}", column_of({position.rank, before}));
  }

  /// Returns the column of an action that has a cell. Such actions keep the text's order; added
  /// actions stand between them.
  int column_of(const Position& position) const {
    const auto begin = schedule_.ranks[position.rank].begin();
    const auto place = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(position.index),
                                     [&](const Action& action) { return has_cell(action); });
    return rows_[position.rank][place].column;
  }

  /// Returns the computation that consumes a receive's message. It exists, because computations are
  /// checked before transfers.
  Position taker(const Position& receive) const {
    const auto& list = schedule_.ranks[receive.rank];
    const Action& it = list[receive.index];
    const auto takes = [&](const Action& other) {
      const bool forward = other.kind == ActionKind::forward;
      const bool backward =
          other.kind == ActionKind::backward || other.kind == ActionKind::backward_input;
      return (it.kind == ActionKind::receive_activation ? forward : backward) &&
             other.chunk == it.chunk && other.micro_batch == it.micro_batch;
    };
    const auto at = std::ranges::find_if(list, takes);
    return {receive.rank, static_cast<std::size_t>(at - list.begin())};
  }

  const Schedule& schedule_;
  std::vector<std::vector<Cell>> rows_;
  bool has_transfers_ = false;
};

}  // namespace

Schedule check_schedule_csv(std::string_view text, const std::string& name) {
  Schedule schedule = parse_schedule_csv(text, name);
  try {
    validate(schedule);
  } catch (const UnsoundSchedule& unsound) {
    const Cells cells(schedule, parse_rows(text, name));
    std::string message = name + " is not sound: ";
    for (const auto& word : unsound.fault()) {
      if (const auto* position = std::get_if<Position>(&word))
        message += cells.describe(*position);
      else if (const auto* same = std::get_if<SameRank>(&word))
        message += cells.describe_in_row(same->position);
      else
        message += std::get<std::string>(word);
    }
    throw ConfigError(message);
  }
  return schedule;
}

Schedule check_schedule_file(const std::filesystem::path& path) {
  const auto text = configs::file_text(path);
  if (!text || text->empty())
    throw ConfigError(
        fmt::format("{}: can't be read, or is empty; expected a schedule as CSV", path.string()));
  return check_schedule_csv(*text, path.string());
}

Schedule read_schedule_file(const std::filesystem::path& path, int stages) {
  Schedule read = check_schedule_file(path);
  if (std::ssize(read.ranks) != stages)
    throw ConfigError(
        fmt::format("{}: has {}, but pipeline.stages = {}: set it to {}, or name another schedule",
                    path.string(), counted(read.ranks.size(), "row"), stages, read.ranks.size()));
  if (!splits_backward(read)) return read;
  Schedule split = read;
  for (auto& list : split.ranks) {
    // Transfers are dropped here and added again by complete(), since the message of a backward
    // leaves after its input half.
    const std::vector<Action> all = std::move(list);
    list.clear();
    for (const Action& action : all) {
      const bool whole = action.kind == ActionKind::backward;
      if (whole) list.push_back({ActionKind::backward_input, action.chunk, action.micro_batch});
      if (whole) list.push_back({ActionKind::backward_weight, action.chunk, action.micro_batch});
      if (!whole && computes(action.kind)) list.push_back(action);
    }
  }
  return complete(std::move(split));
}

}  // namespace penstock::partition
