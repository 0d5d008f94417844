#include "tests/support/partition/tried_copies.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "partition/schedule/edge.h"

namespace penstock::test {
namespace {

using partition::Action;
using partition::ActionKind;
using partition::Schedule;

/// A micro-batch on a chunk, by numbers of its rank's passes.
struct Visit {
  int forward = 0, passed_on = 0, begins = 0, ends = 0;
};

/// A micro-batch leaves after pass `out` and comes back after pass `back`.
struct Trip {
  int micro_batch = 0, out = 0, back = 0;
};
using Trips = std::vector<Trip>;

class ChunkTrips {
 public:
  ChunkTrips(const Schedule& whole, int chunk) : visits_(whole.micro_batches) {
    const bool sends =
        partition::is_message(whole, {chunk, chunk + 1, partition::Edge::Kind::activation});
    for (const Action& action : whole.ranks[whole.chunk_rank[chunk]]) {
      if (!partition::computes(action.kind)) continue;
      const int pass = passes_++;
      Visit& visit = visits_[action.micro_batch];
      if (action.kind == ActionKind::forward && action.chunk == chunk + 1 && !sends)
        visit.passed_on = pass;
      if (action.chunk != chunk) continue;
      if (action.kind == ActionKind::forward) {
        visit.forward = visit.passed_on = pass;
      } else {
        if (action.kind != ActionKind::backward_weight) visit.begins = pass;
        if (action.kind != ActionKind::backward_input) visit.ends = pass;
      }
    }
  }

  /// Within `resident`, or the least with which there are any.
  std::vector<Trips> all(int resident, std::size_t max) {
    std::vector<Trips> found;
    for (room_ = resident; found.empty(); ++room_) {
      held_.assign(passes_, 0);
      max_ = max;
      found.clear();
      extend({}, 0, found);
    }
    if (found.size() > max) return found;  // some are missing
    std::size_t min = visits_.size();
    for (const Trips& trips : found) min = std::min(min, trips.size());
    std::erase_if(found, [&](const Trips& trips) { return trips.size() > min + 1; });
    return found;
  }

 private:
  bool add(int first, int last, int count) {
    bool fits = true;
    for (int pass = first; pass <= last; ++pass) fits = (held_[pass] += count) <= room_ && fits;
    return fits;
  }

  void extend(Trips trips, int micro_batch, std::vector<Trips>& found) {
    if (found.size() > max_) return;
    if (micro_batch == std::ssize(visits_)) {
      found.push_back(std::move(trips));
      return;
    }
    const Visit& visit = visits_[micro_batch];
    if (add(visit.forward, visit.ends, 1)) extend(trips, micro_batch + 1, found);
    add(visit.forward, visit.ends, -1);
    for (int out = visit.passed_on; out + 1 < visit.begins; ++out)
      for (int back = out + 1; back < visit.begins; ++back) {
        const bool before = add(visit.forward, out, 1), behind = add(back + 1, visit.ends, 1);
        if (before && behind) {
          trips.push_back({micro_batch, out, back});
          extend(trips, micro_batch + 1, found);
          trips.pop_back();
        }
        add(visit.forward, out, -1);
        add(back + 1, visit.ends, -1);
      }
  }

  std::vector<Visit> visits_;
  int passes_ = 0, room_ = 0;
  std::size_t max_ = 0;
  std::vector<int> held_;  // by pass
};

/// Adds the copies before pass `next` of the rank: what leaves after the pass before it, then what
/// comes back.
void copy(const Schedule& whole, const std::vector<Trips>& chosen, int rank, int next,
          std::vector<Action>& list) {
  for (const ActionKind kind : {ActionKind::offload, ActionKind::reload})
    for (int chunk = 0; chunk < whole.chunks(); ++chunk)
      for (const Trip& trip : chosen[chunk])
        if (whole.chunk_rank[chunk] == rank &&
            (kind == ActionKind::offload ? trip.out : trip.back) + 1 == next)
          list.push_back({kind, chunk, trip.micro_batch});
}

Schedule with_copies(const Schedule& whole, const std::vector<Trips>& chosen) {
  Schedule lists = whole;
  for (int rank = 0; rank < std::ssize(lists.ranks); ++rank) {
    std::vector<Action> list;
    int pass = 0;
    for (const Action& action : whole.ranks[rank]) {
      if (partition::computes(action.kind)) copy(whole, chosen, rank, pass++, list);
      list.push_back(action);
    }
    lists.ranks[rank] = std::move(list);
  }
  return lists;
}

}  // namespace

std::size_t try_copies(const Schedule& whole, int resident, std::size_t max,
                       const std::function<void(const Schedule&)>& visit) {
  std::vector<std::vector<Trips>> ways;
  std::size_t count = 1;
  for (int chunk = 0; chunk < whole.chunks(); ++chunk) {
    ways.push_back(ChunkTrips(whole, chunk).all(resident, max));
    count *= ways.back().size();
    if (count > max) return count;
  }
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<Trips> chosen;
    std::size_t rest = number;
    for (const auto& of_chunk : ways) {
      chosen.push_back(of_chunk[rest % of_chunk.size()]);
      rest /= of_chunk.size();
    }
    visit(with_copies(whole, chosen));
  }
  return count;
}

}  // namespace penstock::test
