#include "partition/planner/simulate/period_lower_bound.h"

#include <algorithm>
#include <optional>

#include "partition/planner/simulate/traffic.h"

namespace penstock::partition {
namespace {

// The constructor runs the lists once, without a clock, and records the actions in an order in
// which each follows everything it waits for. Along this topological order seconds() computes the
// longest path with constant work per action, so new durations cost O(a) for a actions.

double seconds_of_step(const Durations& durations, int rank) {
  return durations.step ? durations.step(rank) : durations.compute({ActionKind::step});
}

}  // namespace

/// Walk goes through all lists as far as they can run, without a clock.
class PeriodLowerBound::Walk {
 public:
  Walk(const Schedule& schedule, PeriodLowerBound& found)
      : schedule_(schedule), found_(found), next_(schedule.ranks.size(), 0) {
    for (const auto& list : schedule.ranks)
      for (const Action& action : list)
        micro_batches_ = std::max(micro_batches_, action.micro_batch + 1);
    found.ways_.resize(2 * schedule.chunk_rank.size());
    found.messages_ = found.ways_.size() * static_cast<std::size_t>(micro_batches_);
    ends_.resize(found.messages_, 0);
  }

  /// Returns true if the rank went on.
  bool advance(int rank) {
    const auto& list = schedule_.ranks[rank];
    std::size_t& next = next_[rank];
    const std::size_t before = next;
    for (; next < list.size(); ++next)
      if (!pass(rank, list[next])) break;
    return next > before;
  }

 private:
  bool pass(int rank, const Action& action) {
    Place place{.action = action, .rank = rank};
    if (is_send(action.kind) || is_receive(action.kind)) {
      take(place, edge_of(action));
      ++ends_[place.message];
    } else if (computes(action.kind)) {
      const auto edge = input_edge(schedule_, action);
      if (edge) take(place, *edge);
      if (edge && ends_[place.message] < 2) return false;
    } else if (action.kind != ActionKind::reduce) {
      return true;
    }
    found_.order_.push_back(place);
    return true;
  }

  void take(Place& place, const Edge& edge) const {
    place.edge = edge.number();
    place.message = edge.number() * micro_batches_ + place.action.micro_batch;
    found_.ways_[place.edge] = {edge, schedule_.chunk_rank[edge.producer],
                                schedule_.chunk_rank[edge.consumer]};
  }

  const Schedule& schedule_;
  PeriodLowerBound& found_;
  int micro_batches_ = 1;
  std::vector<std::size_t> next_;  // index in each rank's list
  std::vector<int> ends_;          // per message: 2 once it is sent and its receive is posted
};

PeriodLowerBound::PeriodLowerBound(const Schedule& schedule) : ranks_(schedule.ranks.size()) {
  Walk walk(schedule, *this);
  for (bool any = true; any;) {
    any = false;
    for (int rank = 0; rank < static_cast<int>(ranks_); ++rank) any |= walk.advance(rank);
  }
}

/// Messages gives the time of a message that has its links to itself.
class PeriodLowerBound::Messages {
 public:
  Messages(const std::vector<Way>& ways, const Durations& durations)
      : ways_(ways), durations_(durations) {
    if (durations.network == nullptr) return;
    for (const Way& way : ways)
      links_.push_back(way.from == way.to ? Link{0, 1}
                                          : as_one(*durations.network,
                                                   durations.network->route(way.from, way.to)));
  }

  double seconds(int edge, int micro_batch) const {
    if (durations_.network != nullptr)
      return links_[edge].seconds(durations_.network->bytes(ways_[edge].edge, micro_batch));
    return durations_.transfer ? durations_.transfer(ways_[edge].edge, micro_batch) : 0;
  }

 private:
  const std::vector<Way>& ways_;
  const Durations& durations_;
  std::vector<Link> links_;
};

double PeriodLowerBound::seconds(const Durations& durations) const {
  const double waits = durations.network != nullptr ? 1 - durations.network->overlap : 0;
  const Messages messages(ways_, durations);
  std::vector<double> at, reduced(ranks_, 0);  // current time of each rank; end of its reductions
  // On each rank the previous step ends when its own step action does.
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    at.push_back(seconds_of_step(durations, static_cast<int>(rank)));
  const double begin = *std::ranges::max_element(at);
  std::vector<double> starts(messages_, 0);
  for (const Place& place : order_) {
    const Action& action = place.action;
    double& now = at[place.rank];
    if (is_send(action.kind) || is_receive(action.kind)) {
      starts[place.message] = std::max(starts[place.message], now);
      if (is_send(action.kind) && waits > 0)
        now += waits * messages.seconds(place.edge, action.micro_batch);
    } else if (action.kind == ActionKind::reduce) {
      reduced[place.rank] = std::max(now, reduced[place.rank]) + durations.compute(action);
    } else {
      if (place.message >= 0)
        now =
            std::max(now, starts[place.message] + messages.seconds(place.edge, action.micro_batch));
      now += durations.compute(action);
    }
  }
  double together = 0, end = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    together = std::max({together, at[rank], reduced[rank]});
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    end = std::max(end, together + seconds_of_step(durations, static_cast<int>(rank)));
  return end - begin;
}

}  // namespace penstock::partition
