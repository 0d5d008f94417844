#include "tests/support/partition/polled_step.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "partition/schedule/edge.h"
#include "partition/schedule/in_flight.h"

namespace penstock::test {
namespace {

using partition::Action;
using partition::ActionKind;
using partition::Durations;
using partition::Edge;
using partition::Schedule;

class PollingRun {
 public:
  PollingRun(const Schedule& schedule, const Durations& durations)
      : schedule_(schedule), durations_(durations), ranks_(schedule.ranks.size()) {
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      free_.push_back(count_in_flight(schedule, chunk).slots);
    waiting_.resize(free_.size());
  }

  PolledStep run() {
    while (now_ < kInfeasible) {
      for (bool changed = true; changed;) {
        changed = free_ended();
        changed = let_leave() || changed;
        for (int rank = 0; rank < std::ssize(ranks_); ++rank) changed = advance(rank) || changed;
      }
      now_ = next_time();
    }
    return {.begun = std::move(begun_), .seconds = last_end(), .is_over = is_over()};
  }

 private:
  using enum ActionKind;
  using Key = ActionKey;
  static constexpr double kInfeasible = std::numeric_limits<double>::infinity();

  struct Rank {
    std::size_t next = 0;
    double busy_until = 0, out_until = 0, back_until = 0;
    int frees = -1;  // a slot of this chunk, once it is not busy
  };

  bool is_over() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].next < schedule_.ranks[rank].size()) return false;
    return true;
  }
  double last_end() const { return times_.empty() ? 0 : *std::ranges::max_element(times_); }
  double seconds(ActionKind kind, int chunk, int m) const {
    return durations_.compute({kind, chunk, m});
  }
  double at(const std::map<Key, double>& times, Key of) const {
    const auto found = times.find(of);
    return found == times.end() ? kInfeasible : found->second;
  }
  double arrival(ActionKind sent_as, ActionKind posted_as, const Edge& edge, int m) const {
    return std::max(at(sent_, {sent_as, edge.producer, m}),
                    at(sent_, {posted_as, edge.consumer, m})) +
           durations_.transfer(edge, m);
  }
  double input_of(const Action& action) const {
    if (action.kind == backward_weight) return 0;
    const bool activation = action.kind == forward;
    const Edge edge{action.chunk + (activation ? -1 : 1), action.chunk,
                    activation ? Edge::Kind::activation : Edge::Kind::gradient};
    if (!is_message(schedule_, edge)) return 0;
    return activation ? arrival(send_activation, receive_activation, edge, action.micro_batch)
                      : arrival(send_gradient, receive_gradient, edge, action.micro_batch);
  }
  double left_at(int chunk, int m) const {
    const Edge edge{chunk, chunk + 1, Edge::Kind::activation};
    const double sent =
        is_message(schedule_, edge) ? arrival(send_activation, receive_activation, edge, m) : 0;
    return std::max(sent, at(ends_, {offload, chunk, m}));
  }

  bool free_ended() {
    bool any = false;
    for (Rank& rank : ranks_) {
      if (rank.frees < 0 || rank.busy_until > now_) continue;
      const int chunk = std::exchange(rank.frees, -1);
      ++free_[static_cast<std::size_t>(chunk)];
      serve(chunk);
      any = true;
    }
    return any;
  }

  bool let_leave() {
    for (auto& [of, left] : left_) {
      const auto [kind, chunk, m] = of;
      if (left || left_at(chunk, m) > now_) continue;
      left = true;
      ++free_[static_cast<std::size_t>(chunk)];
      advance(schedule_.chunk_rank[chunk]);
      serve(chunk);
      return true;
    }
    return false;
  }

  void serve(int chunk) {
    auto& waiting = waiting_[static_cast<std::size_t>(chunk)];
    int& free = free_[static_cast<std::size_t>(chunk)];
    Rank& rank = ranks_[static_cast<std::size_t>(schedule_.chunk_rank[chunk])];
    while (!waiting.empty() && free > 0 && left_.at({offload, chunk, waiting.front()})) {
      const int m = waiting.front();
      waiting.pop_front();
      --free;
      begun_[{reload, chunk, m}] = std::max(now_, rank.back_until);
      rank.back_until = begun_[{reload, chunk, m}] + seconds(reload, chunk, m);
      ends_[{reload, chunk, m}] = rank.back_until;
    }
  }

  bool advance(int number) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    const auto& list = schedule_.ranks[static_cast<std::size_t>(number)];
    bool any = false;
    while (rank.next < list.size() && rank.busy_until <= now_ && rank.frees < 0 &&
           begin(rank, list[rank.next])) {
      ++rank.next;
      any = true;
    }
    return any;
  }

  bool begin(Rank& rank, const Action& action) {
    const auto [kind, chunk, m] = key(action);
    if (is_send(kind) || is_receive(kind)) {
      sent_[key(action)] = now_;
    } else if (kind == offload) {
      begun_[key(action)] = std::max(now_, rank.out_until);
      rank.out_until = ends_[key(action)] = begun_[key(action)] + seconds(kind, chunk, m);
      left_[key(action)] = false;
    } else if (kind == reload) {
      waiting_[static_cast<std::size_t>(chunk)].push_back(m);
      serve(chunk);
    } else if (computes(kind)) {
      return compute(rank, action);
    }
    return true;
  }

  bool compute(Rank& rank, const Action& action) {
    const auto [kind, chunk, m] = key(action);
    int& free = free_[static_cast<std::size_t>(chunk)];
    if (input_of(action) > now_ || (kind == forward && free == 0)) return false;
    const bool begins = kind == backward || kind == backward_input;
    if (begins && left_.contains({offload, chunk, m}) && at(ends_, {reload, chunk, m}) > now_)
      return false;
    if (kind == forward) --free;
    if (kind == backward || kind == backward_weight) rank.frees = chunk;
    begun_[key(action)] = now_;
    rank.busy_until = now_ + seconds(kind, chunk, m);
    times_.push_back(rank.busy_until);
    return true;
  }

  double next_time() const {
    double next = kInfeasible;
    const auto later = [&](double time) {
      if (time > now_) next = std::min(next, time);
    };
    for (const double time : times_) later(time);
    for (const auto& [of, time] : ends_) later(time);
    for (const auto& list : schedule_.ranks)
      for (const Action& action : list)
        if (computes(action.kind)) later(input_of(action));
    return next;
  }

  const Schedule& schedule_;
  const Durations& durations_;
  std::vector<Rank> ranks_;
  std::vector<int> free_;
  std::vector<std::deque<int>> waiting_;  // reloads of each chunk
  std::map<Key, double> begun_, sent_, ends_;
  std::map<Key, bool> left_;
  std::vector<double> times_;
  double now_ = 0;
};

}  // namespace

ActionKey key(const partition::Action& action) {
  return {action.kind, action.chunk, action.micro_batch};
}

PolledStep poll(const partition::Schedule& schedule, const partition::Durations& durations) {
  return PollingRun(schedule, durations).run();
}

}  // namespace penstock::test
