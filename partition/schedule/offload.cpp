#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "partition/schedule/complete.h"
#include "partition/schedule/edge.h"

namespace penstock::partition {
namespace {

// Activation offload as a caching problem: each chunk has `room` device slots. A micro-batch needs
// one from its forward until its output is passed on, and again during its backward. The lists are
// known in advance, so Belady's rule (1966) applies: if no slot is free, the micro-batch that is
// needed last is offloaded. The order of the other actions does not change. A slot is never needed
// by more than min_resident() micro-batches at once, so an action can always run.

/// A Stay is the time of one micro-batch on a chunk, as indices into the rank's list.
struct Stay {
  std::size_t forward = 0;
  /// The action that passes its output on; `forward` if no other chunk takes it.
  std::size_t passed_on = 0;
  std::size_t begins = 0, ends = 0;  // first and last action of backward
  bool leaves = false;               // true if it is offloaded to the host
  std::size_t reload = 0;            // index of the action before which it is reloaded
};

std::vector<Stay> stays_of(const Schedule& schedule, int chunk) {
  std::vector<Stay> stays(static_cast<std::size_t>(schedule.micro_batches));
  const auto& list = schedule.ranks.at(schedule.chunk_rank.at(chunk));
  const bool sends = is_message(schedule, {chunk, chunk + 1, Edge::Kind::activation});
  for (std::size_t at = 0; at < list.size(); ++at) {
    const Action& action = list[at];
    if (action.kind == ActionKind::reduce || action.kind == ActionKind::step) continue;
    Stay& stay = stays.at(action.micro_batch);
    const bool passes = action.kind == (sends ? ActionKind::send_activation : ActionKind::forward);
    if (passes && action.chunk == (sends ? chunk : chunk + 1)) stay.passed_on = at;
    if (action.chunk != chunk) continue;
    if (action.kind == ActionKind::forward) stay.forward = stay.passed_on = at;
    if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_input)
      stay.begins = at;
    if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight)
      stay.ends = at;
  }
  return stays;
}

/// Occupancy counts the micro-batches on the device while each action runs.
class Occupancy {
 public:
  explicit Occupancy(std::size_t actions) : held_(actions, 0) {}

  void add(std::size_t first, std::size_t last) {
    for (std::size_t at = first; at <= last; ++at) ++held_[at];
  }
  int at(std::size_t place) const { return held_[place]; }
  int max() const { return *std::ranges::max_element(held_); }

 private:
  std::vector<int> held_;
};

/// Returns the occupancy if every micro-batch is on the device only while it has to be.
Occupancy min_of(const std::vector<Stay>& stays, std::size_t actions) {
  Occupancy held(actions);
  for (const Stay& stay : stays) {
    held.add(stay.forward, stay.passed_on);
    held.add(stay.begins, stay.ends);
  }
  return held;
}

/// Returns the micro-batch on the device that is needed last, among those that are idle at `now`.
Stay* last_needed(std::vector<Stay>& stays, std::size_t now) {
  Stay* last = nullptr;
  for (Stay& stay : stays) {
    const bool may_leave = !stay.leaves && stay.passed_on < now && now < stay.begins;
    if (may_leave && (last == nullptr || stay.begins > last->begins)) last = &stay;
  }
  return last;
}

/// Chooses which micro-batches are offloaded. It walks the actions in order; `held` counts the
/// micro-batches on the device before each action.
void choose_leaving(std::vector<Stay>& stays, std::size_t actions, int room) {
  std::vector<Stay*> starts(actions, nullptr), ends(actions, nullptr);
  for (Stay& stay : stays) {
    starts[stay.forward] = starts[stay.begins] = &stay;
    ends[stay.ends] = &stay;
  }
  int held = 0;
  for (std::size_t at = 0; at < actions; ++at) {
    const Stay* taking = starts[at];
    if (taking != nullptr && (at == taking->forward || taking->leaves)) {
      if (held == room) {
        last_needed(stays, at)->leaves = true;
        --held;
      }
      ++held;
    }
    if (ends[at] != nullptr) --held;
  }
}

/// Places the reloads in the order of backward. Each is moved forward from its backward as long as
/// a slot is free.
void place_reloads(std::vector<Stay>& stays, std::size_t actions, int room) {
  Occupancy held(actions);
  std::vector<Stay*> leaving;
  for (Stay& stay : stays) {
    if (!stay.leaves) {
      held.add(stay.forward, stay.ends);
      continue;
    }
    held.add(stay.forward, stay.passed_on);
    held.add(stay.begins, stay.ends);
    leaving.push_back(&stay);
  }
  std::ranges::sort(leaving, {}, &Stay::begins);
  std::size_t earliest = 0;
  for (Stay* stay : leaving) {
    stay->reload = stay->begins;
    const std::size_t from = std::max(earliest, stay->passed_on + 1);
    while (stay->reload > from && held.at(stay->reload - 1) < room) --stay->reload;
    if (stay->reload < stay->begins) held.add(stay->reload, stay->begins - 1);
    earliest = stay->reload;
  }
}

/// The actions to insert before and after each action of a rank's list.
struct Insertions {
  explicit Insertions(std::size_t actions) : before(actions), after(actions) {}
  std::vector<std::vector<Action>> before, after;
};

void insert_chunk(const Schedule& schedule, int chunk, int resident, Insertions& insertions) {
  const std::size_t actions = insertions.before.size();
  std::vector<Stay> stays = stays_of(schedule, chunk);
  const int room = std::max(resident, min_of(stays, actions).max());
  choose_leaving(stays, actions, room);
  place_reloads(stays, actions, room);
  std::vector<std::pair<std::size_t, int>> reloads;
  for (int m = 0; m < schedule.micro_batches; ++m) {
    const Stay& stay = stays[static_cast<std::size_t>(m)];
    if (!stay.leaves) continue;
    insertions.after[stay.passed_on].push_back({ActionKind::offload, chunk, m});
    reloads.emplace_back(stay.begins, m);
  }
  std::ranges::sort(reloads);
  for (const auto& [begins, m] : reloads)
    insertions.before[stays[static_cast<std::size_t>(m)].reload].push_back(
        {ActionKind::reload, chunk, m});
}

}  // namespace

int min_resident(const Schedule& schedule, int chunk) {
  const std::size_t actions = schedule.ranks.at(schedule.chunk_rank.at(chunk)).size();
  return min_of(stays_of(schedule, chunk), actions).max();
}

Schedule with_offload(Schedule schedule, int resident) {
  if (resident == 0 || schedule.forward_only) return schedule;
  std::vector<Insertions> insertions;
  for (const auto& list : schedule.ranks) insertions.emplace_back(list.size());
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
    insert_chunk(schedule, chunk, resident, insertions[schedule.chunk_rank[chunk]]);
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<Action> whole;
    for (std::size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
      const auto& before = insertions[rank].before[at];
      const auto& after = insertions[rank].after[at];
      whole.insert(whole.end(), before.begin(), before.end());
      whole.push_back(schedule.ranks[rank][at]);
      whole.insert(whole.end(), after.begin(), after.end());
    }
    schedule.ranks[rank] = std::move(whole);
  }
  return schedule;
}

}  // namespace penstock::partition
