#include "partition/schedule/offload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"
#include "partition/simulate/memory.h"
#include "partition/simulate/simulate.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using enum ActionKind;
using Key = std::tuple<ActionKind, int, int>;

constexpr double kNever = std::numeric_limits<double>::infinity();

Key key(const Action& action) { return {action.kind, action.chunk, action.micro_batch}; }

/// Runs lists by looking, again and again, at what can begin by now; messages share no links. Knows
/// nothing of the simulator's events.
class PollingRun {
 public:
  PollingRun(const Schedule& schedule, const Durations& durations)
      : schedule_(schedule), durations_(durations), ranks_(schedule.ranks.size()) {
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      free_.push_back(count_in_flight(schedule, chunk).slots);
    waiting_.resize(free_.size());
  }

  /// When each computation, offload and reload begins.
  std::map<Key, double> run() {
    while (now_ < kNever) {
      for (bool changed = true; changed;) {
        changed = free_ended();
        changed = let_leave() || changed;
        for (int rank = 0; rank < std::ssize(ranks_); ++rank) changed = advance(rank) || changed;
      }
      now_ = next_time();
    }
    return begun_;
  }
  bool is_over() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].next < schedule_.ranks[rank].size()) return false;
    return true;
  }

 private:
  struct Rank {
    std::size_t next = 0;
    double busy_until = 0, out_until = 0, back_until = 0;
    int frees = -1;  // a slot of this chunk, once it is not busy
  };

  double seconds(ActionKind kind, int chunk, int m) const {
    return durations_.compute({kind, chunk, m});
  }
  double at(const std::map<Key, double>& times, Key of) const {
    const auto found = times.find(of);
    return found == times.end() ? kNever : found->second;
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
    double next = kNever;
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

/// Drawn for every action and message.
struct Drawn {
  explicit Drawn(unsigned seed) : random(seed) {
    const double slowness = seed % 2 == 0 ? 1 : 4;  // of copies
    durations.compute = [this, slowness, seed](const Action& action) {
      if (seed % 3 == 0 && action.kind == backward_weight) return 0.0;  // nothing to train there
      const bool copies = action.kind == offload || action.kind == reload;
      if (!computes(action.kind) && !copies) return 0.0;
      return (copies ? slowness : 1) * of(key(action));
    };
    durations.transfer = [this](const Edge& edge, int m) {
      return 0.3 * of({edge.kind == Edge::Kind::activation ? send_activation : send_gradient,
                       edge.producer, m});
    };
  }
  double of(const Key& what) {
    const auto [at, fresh] = known.try_emplace(what, 0);
    if (fresh) at->second = std::uniform_real_distribution(0.2, 3.0)(random);
    return at->second;
  }
  std::mt19937 random;
  std::map<Key, double> known;
  Durations durations;
};

TEST(SimulatedOffload, AgreesWithLookingAgainAndAgain) {
  unsigned seed = 1;
  for (const std::string_view name : schedule_names())
    for (int stages = 1; stages <= 4; ++stages)
      for (const int batches : {3, 6, 7})
        for (const int resident : {1, 2, 3}) {
          const Schedule lists = with_offload(make_schedule(name, stages, batches), resident);
          Drawn drawn(seed++);
          PollingRun polling(lists, drawn.durations);
          const auto expected = polling.run();
          SCOPED_TRACE(fmt::format("{} {} {} {}", name, stages, batches, resident));
          ASSERT_TRUE(polling.is_over());
          const Simulation run = simulate(lists, drawn.durations);
          std::size_t found = 0;
          for (const auto* timeline : {&run.ranks, &run.copies})
            for (const auto& list : *timeline)
              for (const TimedAction& timed : list) {
                if (timed.action.kind == reduce || timed.action.kind == step) continue;
                ++found;
                EXPECT_DOUBLE_EQ(timed.start, expected.at(key(timed.action)))
                    << describe(timed.action);
              }
          EXPECT_EQ(found, expected.size());
        }
}

// Stage 0 holds two of three micro-batches: 1 leaves, which takes 4 each way.
TEST(SimulatedOffload, CopiesTakeTheirTime) {
  const Schedule lists = with_offload(make_schedule("gpipe", 1, 3), 2);
  const Durations durations{.compute = [](const Action& action) {
    if (action.kind == offload || action.kind == reload) return 4.0;
    return computes(action.kind) ? 1.0 : 0.0;
  }};
  // F0 0-1, F1 1-2, out 2-6, F2 6-7, B0 7-8, back 8-12, B1 12-13, B2 13-14.
  EXPECT_DOUBLE_EQ(simulate(lists, durations).makespan, 14);
  const Durations free{.compute = [](const Action& a) { return computes(a.kind) ? 1.0 : 0.0; }};
  EXPECT_DOUBLE_EQ(simulate(lists, free).makespan, 6);
  EXPECT_DOUBLE_EQ(step_period(lists, durations, Barrier::before_step), 14);
}

// Lists that with_offload() does not make: backward comes before the reload that it waits for.
TEST(SimulatedOffload, SaysThatAStepWouldHang) {
  Schedule lists{.name = "by hand", .micro_batches = 2, .chunk_rank = {0}};
  lists.ranks = {{{forward, 0, 0},
                  {backward, 0, 0},
                  {forward, 0, 1},
                  {offload, 0, 1},
                  {backward, 0, 1},
                  {reload, 0, 1}}};
  const Durations durations{.compute = [](const Action&) { return 1.0; }};
  EXPECT_NE(test::message_of<ConfigError>([&] {
              simulate(lists, durations);
            }).find("pipeline.resident: a step of schedule \"by hand\" would hang: rank 0"),
            std::string::npos);
}

TEST(SimulatedOffload, MemoryHoldsWhatIsThere) {
  unsigned seed = 100;
  for (const std::string_view name : schedule_names())
    for (const int resident : {1, 2}) {
      const Schedule lists = with_offload(make_schedule(name, 3, 7), resident);
      Drawn drawn(seed++);
      const auto memory = memory_over_time(simulate(lists, drawn.durations), [](int, int) {
        return HeldBytes{.to_input_gradient = 1, .to_weight_gradient = 2};
      });
      for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        int slots = 0;
        for (int chunk = 0; chunk < lists.chunks(); ++chunk)
          if (lists.chunk_rank[chunk] == static_cast<int>(rank))
            slots += count_in_flight(lists, chunk).slots;
        EXPECT_LE(peaks(memory)[rank], 3 * slots) << name << rank;
        EXPECT_NEAR(memory[rank].back().bytes, 0, 1e-9) << name << rank;
      }
    }
}

}  // namespace
}  // namespace penstock::partition
