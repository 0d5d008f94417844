#include "partition/schedule/complete.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/transfers.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

// A generator states only what each rank computes. This file derives the rest of the lists from it.

bool adds_weight_gradient(const Action& action) {
  return action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight;
}

bool sound(const Schedule& schedule) {
  try {
    validate(schedule);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

std::vector<Action> with_reduce_and_step(const std::vector<Action>& list) {
  std::map<int, std::size_t> last;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (adds_weight_gradient(list[at])) last[list[at].chunk] = at;
  }
  std::vector<Action> whole;
  for (std::size_t at = 0; at < list.size(); ++at) {
    whole.push_back(list[at]);
    const auto found = last.find(list[at].chunk);
    if (found != last.end() && found->second == at) {
      whole.push_back({ActionKind::reduce, list[at].chunk});
    }
  }
  whole.push_back({ActionKind::step});
  return whole;
}

}  // namespace

Schedule with_ends(Schedule schedule) {
  if (schedule.forward_only) return schedule;
  for (auto& list : schedule.ranks) list = with_reduce_and_step(list);
  return schedule;
}

Schedule complete(Schedule computation) {
  const Schedule ended = with_ends(std::move(computation));
  Schedule late = with_transfers(ended);
  return sound(late) ? late : with_transfers(ended, Posting::when_sent);
}

Schedule in_line(std::string name, int stages, int micro_batches,
                 const std::function<std::vector<Action>(int stage)>& list) {
  Schedule schedule{.name = std::move(name), .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.chunk_rank.push_back(stage);
    schedule.ranks.push_back(list(stage));
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
