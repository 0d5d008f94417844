#include "partition/schedule/validator/positions.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(ActionKind::step) + 1;

}  // namespace

Positions::Positions(const Schedule& schedule)
    : chunks_(schedule.chunks()),
      micro_batches_(schedule.micro_batches),
      ranks_(static_cast<int>(schedule.ranks.size())),
      table_(kKinds * static_cast<std::size_t>(chunks_) * static_cast<std::size_t>(micro_batches_) +
                 static_cast<std::size_t>(ranks_),
             Position{.rank = -1}) {}

bool Positions::may_hold(const Action& action, int rank) const {
  if (action.kind == ActionKind::step) return rank >= 0 && rank < ranks_;
  if (action.chunk < 0 || action.chunk >= chunks_) return false;
  return action.kind == ActionKind::reduce ||
         (action.micro_batch >= 0 && action.micro_batch < micro_batches_);
}

// The table is [kind][chunk][micro-batch], and then the steps by rank. A reduce has no micro-batch
// and takes entry 0 of its chunk.
std::size_t Positions::place(const Action& action, int rank) const {
  const auto chunks = static_cast<std::size_t>(chunks_);
  const auto batches = static_cast<std::size_t>(micro_batches_);
  if (action.kind == ActionKind::step)
    return kKinds * chunks * batches + static_cast<std::size_t>(rank);
  const auto kind = static_cast<std::size_t>(action.kind);
  const auto chunk = static_cast<std::size_t>(action.chunk);
  const bool once = action.kind == ActionKind::reduce;
  return (kind * chunks + chunk) * batches +
         static_cast<std::size_t>(once ? 0 : action.micro_batch);
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
