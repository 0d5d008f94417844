#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "partition/simulate/messages.h"
#include "partition/simulate/simulate.h"
#include "partition/simulate/traffic.h"

namespace penstock::partition {

/// Runs one simulation: ranks go through their lists as far as they can, then time goes on to the
/// next event: a rank has ended what it did, or a message is there.
class Clockwork {
 public:
  /// Both must outlive it.
  Clockwork(const Schedule& schedule, const Durations& durations, Barrier barrier);

  Simulation run();
  /// Those of the run, which is over, in the order in which they start.
  std::vector<TimedMessage> messages() const;

 private:
  struct Message {
    Edge edge;
    int micro_batch = 0;
    bool sent = false, posted = false, arrived = false;
    double sent_at = 0, freed_at = 0, started_at = 0, arrived_at = 0;
  };
  struct Rank {
    std::size_t next = 0;   // in its list
    double busy_until = 0;  // computes, or waits for what it sends
    double reduced_at = 0;  // when its reductions so far have ended
    bool at_barrier = false;
  };
  struct Event {
    double time = 0;
    int number = 0;    // so that events of one time have an order
    int rank = -1;     // goes on, or
    int message = -1;  // is there
    bool operator>(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };

  void go_on(int rank);
  /// False: the rank has to wait.
  bool act(int rank, const Action& action);
  void send(int rank, Message& message);
  void start_if_ready(Message& message);
  void arrive(int number);
  void reduce(int rank, const Action& action);
  void step(int rank, double start);
  void step_together();
  void record(int rank, const Action& action, double start, double end);
  /// The rank goes on with its list at `time`.
  void occupy(int rank, double time);
  void add_event(Event event);

  int number_of(const Edge& edge, int micro_batch);
  /// Whether what the action takes from another rank is there.
  bool has_input(const Action& action);
  double makespan() const;

  const Schedule& schedule_;
  const Durations& durations_;
  Barrier barrier_;
  std::optional<Traffic> traffic_;
  double now_ = 0;
  int events_added_ = 0;
  std::vector<Rank> ranks_;
  int micro_batches_ = 1;
  std::vector<Message> messages_;  // [edge · micro-batches + micro-batch]
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Simulation result_;
};

}  // namespace penstock::partition
