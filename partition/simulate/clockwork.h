#pragma once

#include <deque>
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
    std::size_t next = 0;            // in its list
    double busy_until = 0;           // computes, or waits for what it sends
    double reduced_at = 0;           // when its reductions so far have ended
    double out_at = 0, back_at = 0;  // when its offloads and its reloads so far have ended
    int ending = -1;                 // the chunk whose slot is free once it is not busy
    bool at_barrier = false;
  };
  /// What of a chunk's micro-batches is on the device, where some are offloaded.
  struct Slots {
    int free = 0;
    std::deque<int> reloads = {};  // micro-batches that come back, as soon as a slot is free
  };
  struct Copy {  // what a micro-batch keeps on a chunk, between device and host
    bool offloads = false, is_out = false, has_left = false, is_back = false;
  };
  struct Event {
    double time = 0;
    int number = 0;    // so that events of one time have an order
    int rank = -1;     // goes on, or
    int message = -1;  // is there, or
    int copy = -1;     // is made
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

  void take_slots();
  int copy_of(int chunk, int micro_batch) const { return chunk * micro_batches_ + micro_batch; }
  /// Takes what slot the computation needs. False: it has to wait for one, or for what is reloaded.
  bool take_room(int rank, const Action& action);
  void offload(int rank, const Action& action);
  void end_copy(int number);
  /// Gives the slot back, once it is on the host and its output has left.
  void leave(int chunk, int micro_batch);
  void free_slot(int chunk);
  void start_reloads(int chunk);
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
  std::vector<Slots> slots_;       // of each chunk; empty where nothing is offloaded
  std::vector<Copy> copies_;       // see copy_of
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Simulation result_;
};

}  // namespace penstock::partition
