#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "partition/planner/simulate/simulate.h"
#include "partition/planner/simulate/traffic.h"

namespace penstock::partition {

/// EventSimulator simulates the events of one run. Ranks go through their lists as far as they can.
/// Then time moves to the next event: a rank's action ends, a message arrives, or a copy ends.
class EventSimulator {
 public:
  /// Both arguments must outlive this object.
  EventSimulator(const Schedule& schedule, const Durations& durations, Barrier barrier);

  /// Runs once. Throws ConfigError if ranks wait for slots for ever.
  Simulation run();
  /// Returns the messages of the run, in the order in which they start. Call it after run().
  std::vector<TimedMessage> messages() const;

 private:
  struct Message {
    Edge edge;
    int micro_batch = 0;
    bool sent = false, posted = false, arrived = false;
    double sent_at = 0, freed_at = 0, started_at = 0, arrived_at = 0;
  };
  struct Rank {
    std::size_t next = 0;            // index in its list
    double busy_until = 0;           // time until which it computes, or waits for its send
    double reduced_at = 0;           // end of its last reduction so far
    double out_at = 0, back_at = 0;  // end of its last offload and of its last reload so far
    int ending = -1;                 // chunk whose slot is freed when it stops being busy
    bool at_barrier = false;
  };
  /// The slots of a chunk on the device, if micro-batches are offloaded.
  struct Slots {
    int free = 0;
    std::deque<int> reloads = {};  // micro-batches to reload when a slot is free
  };
  /// A Copy is the state of a micro-batch's saved activations on a chunk. `has_left` is set once
  /// the offload has ended and the output has arrived, which frees the slot.
  struct Copy {
    bool offloads = false, is_out = false, has_left = false, is_back = false;
  };
  struct Event {
    double time = 0;
    int number = 0;    // makes the order of simultaneous events unique
    int rank = -1;     // rank that goes on, or -1
    int message = -1;  // message that arrives, or -1
    int copy = -1;     // copy that ends, or -1
    bool operator>(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };

  /// Runs the rank's actions until it is busy or has to wait.
  void go_on(int rank);
  /// Starts an action. Returns false if the rank does not go on after it.
  bool act(int rank, const Action& action);
  void send(int rank, Message& message);
  /// Starts the transfer, once the message is sent and its receive is posted.
  void start_if_ready(Message& message);
  /// Delivers a message to its consumer, and frees the producer's slot if that was waiting for it.
  void arrive(int number);
  void reduce(int rank, const Action& action);
  void step(int rank, double start);
  /// Starts the step on all ranks, when all are at the barrier and all reductions have ended.
  void step_together();

  void take_slots();
  int copy_of(int chunk, int micro_batch) const { return chunk * micro_batches_ + micro_batch; }
  /// Takes a slot for a forward. Returns false if the computation has to wait for a slot or a
  /// reload.
  bool take_room(int rank, const Action& action);
  void offload(int rank, const Action& action);
  void end_copy(int number);
  /// Frees the slot, once the activations are on the host and the output has arrived.
  void leave(int chunk, int micro_batch);
  void free_slot(int chunk);
  /// Starts the chunk's reloads in order, as long as slots are free.
  void start_reloads(int chunk);
  void record(int rank, const Action& action, double start, double end);
  /// Lets the rank go on with its list at `time`.
  void occupy(int rank, double time);
  void add_event(Event event);

  /// Returns the index of a message in messages_, and notes the message's edge there.
  int number_of(const Edge& edge, int micro_batch);
  /// Returns true if the action's input from another rank has arrived, or if it needs none.
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
  std::vector<Message> messages_;  // [edge tag * micro-batches + micro-batch]
  std::vector<Slots> slots_;       // one per chunk; empty if nothing is offloaded
  std::vector<Copy> copies_;       // indexed by copy_of()
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Simulation result_;
};

}  // namespace penstock::partition
