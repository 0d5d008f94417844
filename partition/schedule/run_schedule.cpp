#include "partition/schedule/run_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "configs/config.h"
#include "configs/rules.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

/// Returns the new index of each micro-batch if only the `left` longest stay, or -1 if it is
/// removed.
std::vector<int> places_left(const std::vector<int>& sizes, int left) {
  std::vector<int> places;
  int next = 0;
  for (const int size : sizes) places.push_back(size < left ? next++ : -1);
  return places;
}

/// Returns the list with new indices of micro-batches, without those that are removed.
std::vector<Action> without_others(const std::vector<Action>& list,
                                   const std::vector<int>& places) {
  std::vector<Action> kept;
  for (Action action : list) {
    if (action.kind != ActionKind::reduce && action.kind != ActionKind::step) {
      action.micro_batch = places[static_cast<std::size_t>(action.micro_batch)];
      if (action.micro_batch < 0) continue;
    }
    kept.push_back(action);
  }
  return kept;
}

}  // namespace

RunSchedule::RunSchedule(std::string name, int stages, std::shared_ptr<ScheduleCache> known)
    : name_(std::move(name)), stages_(stages), known_(std::move(known)) {
  const Schedule one = made(1);
  chunk_ranks_ = one.chunk_rank;
  splits_backward_ = partition::splits_backward(one);
}

RunSchedule::RunSchedule(Schedule lists, std::vector<int> sizes)
    : name_(lists.name),
      stages_(static_cast<int>(lists.ranks.size())),
      lists_(std::move(lists)),
      sizes_(std::move(sizes)),
      chunk_ranks_(lists_.chunk_rank),
      splits_backward_(partition::splits_backward(lists_)) {
  validate(lists_);
  if (const auto wrong = configs::fault_of_order(sizes_, lists_.micro_batches); !wrong.empty())
    throw ConfigError("the order of a replica's micro-batches " + wrong);
  if (!sizes_.empty()) return;
  sizes_.resize(static_cast<std::size_t>(lists_.micro_batches));
  std::iota(sizes_.begin(), sizes_.end(), 0);
}

RunSchedule RunSchedule::resident(int micro_batches) const {
  RunSchedule other = *this;
  other.resident_ = micro_batches;
  return other;
}

Schedule RunSchedule::of(int micro_batches) const {
  return with_offload(without_offload(micro_batches), resident_);
}

Schedule RunSchedule::made(int micro_batches) const {
  return known_ ? known_->of(name_, stages_, micro_batches)
                : make_schedule(name_, stages_, micro_batches);
}

// A step with fewer micro-batches than the lists leaves out the shortest ones. All other actions
// keep their order, so what was sound stays sound.
Schedule RunSchedule::without_offload(int micro_batches) const {
  if (lists_.ranks.empty()) return made(micro_batches);
  if (micro_batches == lists_.micro_batches) return lists_;
  if (micro_batches < 1 || micro_batches > lists_.micro_batches)
    throw ConfigError(
        fmt::format("schedule {} has lists for 1 to {} micro-batches a replica, not for {}: make a "
                    "new plan",
                    name_, lists_.micro_batches, micro_batches));
  const std::vector<int> places = places_left(sizes_, micro_batches);
  Schedule shorter = lists_;
  shorter.micro_batches = micro_batches;
  for (auto& list : shorter.ranks) list = without_others(list, places);
  return shorter;
}

}  // namespace penstock::partition
