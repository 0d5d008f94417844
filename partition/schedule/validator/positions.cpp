#include "partition/schedule/validator/positions.h"

#include <algorithm>

namespace penstock::partition {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(ActionKind::step) + 1;

/// Returns how many micro-batches the table needs. A complete schedule has an action for each, so
/// one more than there are actions is enough to detect a missing one.
int micro_batches_of(const Schedule& schedule) {
  std::size_t actions = 0;
  for (const auto& list : schedule.ranks) actions += list.size();
  return static_cast<int>(std::min(static_cast<std::size_t>(schedule.micro_batches), actions + 1));
}

}  // namespace

Positions::Positions(const Schedule& schedule)
    : chunks_(schedule.chunks()),
      micro_batches_(micro_batches_of(schedule)),
      ranks_(static_cast<int>(schedule.ranks.size())),
      table_(kKinds * static_cast<std::size_t>(std::max(chunks_, ranks_)) *
                 static_cast<std::size_t>(micro_batches_),
             Position{.rank = -1}) {}

bool Positions::may_hold(const Action& action, int rank) const {
  if (action.kind == ActionKind::step) return rank >= 0 && rank < ranks_;
  if (action.chunk < 0 || action.chunk >= chunks_) return false;
  return action.kind == ActionKind::reduce ||
         (action.micro_batch >= 0 && action.micro_batch < micro_batches_);
}

// The table is [kind][chunk or rank][micro-batch]. A reduce has no micro-batch and a step no chunk,
// so a reduce takes entry 0 of its chunk and a step entry 0 of its rank.
std::size_t Positions::place(const Action& action, int rank) const {
  const bool step = action.kind == ActionKind::step;
  const auto kind = static_cast<std::size_t>(action.kind);
  const auto owner = static_cast<std::size_t>(step ? rank : action.chunk);
  const bool once = step || action.kind == ActionKind::reduce;
  const auto batch = static_cast<std::size_t>(once ? 0 : action.micro_batch);
  const auto owners = static_cast<std::size_t>(std::max(chunks_, ranks_));
  return (kind * owners + owner) * static_cast<std::size_t>(micro_batches_) + batch;
}

std::optional<Position> Positions::find(const Action& action, int rank) const {
  if (!may_hold(action, rank)) return std::nullopt;
  const Position& position = table_[place(action, rank)];
  return position.rank < 0 ? std::nullopt : std::optional(position);
}

void Positions::add(const Action& action, const Position& position) {
  table_[place(action, position.rank)] = position;
  ++size_;
}

}  // namespace penstock::partition
