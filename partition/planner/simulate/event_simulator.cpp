#include "partition/planner/simulate/event_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/in_flight.h"

namespace penstock::partition {

// The state between events: every rank stands at an action that waits, or is busy until a known
// time. An event ends a rank's action, delivers a message or ends a copy. Only the one or two ranks
// that it may release try to go on. So a run costs O(a log a) for a actions, plus the traffic on
// shared links (traffic.h).

EventSimulator::EventSimulator(const Schedule& schedule, const Durations& durations,
                               Barrier barrier)
    : schedule_(schedule), durations_(durations), barrier_(barrier), ranks_(schedule.ranks.size()) {
  if (durations.network != nullptr) traffic_.emplace(*durations.network);
  result_.ranks.resize(schedule.ranks.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    result_.ranks[rank].reserve(schedule.ranks[rank].size());
  for (const auto& list : schedule.ranks)
    for (const Action& action : list)
      micro_batches_ = std::max(micro_batches_, action.micro_batch + 1);
  messages_.resize(2 * schedule.chunks() * static_cast<std::size_t>(micro_batches_));
  take_slots();
}

// A sound schedule always ends. Slots can make ranks wait for each other for ever, though, as the
// lists do not say when a slot becomes free. Then no event is left while a list is not at its end.
Simulation EventSimulator::run() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) go_on(rank);
  // No rank can go on before a future event, and no event is earlier than now_. The next event is
  // the earlier of the next delivery and the top of the queue.
  for (;;) {
    const auto passing = traffic_ ? traffic_->next() : std::nullopt;
    if (passing && (events_.empty() || *passing <= events_.top().time)) {
      now_ = *passing;
      for (const int number : traffic_->pass(now_)) arrive(number);
    } else if (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.message >= 0)
        arrive(event.message);
      else if (event.copy >= 0)
        end_copy(event.copy);
      else
        go_on(event.rank);
    } else {
      break;
    }
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!slots_.empty() && ranks_[rank].next < schedule_.ranks[rank].size())
      throw ConfigError(fmt::format(
          "pipeline.resident: a step of schedule \"{}\" would hang: rank {} waits for a slot in {}",
          schedule_.name, rank, describe(schedule_.ranks[rank][ranks_[rank].next])));
  result_.makespan = makespan();
  return std::move(result_);
}

// A rank also comes here when it is still busy, because a message arrived for it, and then nothing
// happens: the event that ends its action comes later. A slot is freed before the next action,
// which may need it.
void EventSimulator::go_on(int rank) {
  Rank& state = ranks_[rank];
  const auto& list = schedule_.ranks[rank];
  while (now_ >= state.busy_until) {
    if (state.ending >= 0) free_slot(std::exchange(state.ending, -1));
    if (state.next == list.size() || !act(rank, list[state.next])) return;
    ++state.next;
  }
}

// A transfer, a reduction and a copy are only started here, and the rank goes on at once, except
// after a send that does not fully overlap computing. A step returns false, since step() moves the
// rank on itself. A computation without its input or a slot leaves the rank where it stands, until
// an arrival or a freed slot tries again.
bool EventSimulator::act(int rank, const Action& action) {
  if (is_send(action.kind) || is_receive(action.kind)) {
    Message& message = messages_[number_of(edge_of(action), action.micro_batch)];
    if (is_send(action.kind))
      message.sent = true;
    else
      message.posted = true;
    start_if_ready(message);
    if (is_send(action.kind)) send(rank, message);
    return true;
  }
  if (action.kind == ActionKind::reduce) {
    reduce(rank, action);
    return true;
  }
  if (action.kind == ActionKind::offload) {
    offload(rank, action);
    return true;
  }
  if (action.kind == ActionKind::reload) {
    slots_[action.chunk].reloads.push_back(action.micro_batch);
    start_reloads(action.chunk);
    return true;
  }
  if (action.kind == ActionKind::step) {
    if (barrier_ == Barrier::none) {
      step(rank, std::max(now_, ranks_[rank].reduced_at));
    } else {
      ranks_[rank].at_barrier = true;
      if (std::ranges::all_of(ranks_, &Rank::at_barrier)) step_together();
    }
    return false;  // the rank went on in step(), or it waits
  }
  if (!has_input(action) || !take_room(rank, action)) return false;
  const double end = now_ + durations_.compute(action);
  record(rank, action, now_, end);
  occupy(rank, end);
  return true;
}

/// Posts a send. The sender waits for the part of the message's time that does not overlap.
void EventSimulator::send(int rank, Message& message) {
  message.sent_at = message.freed_at = now_;
  if (!traffic_ || durations_.network->overlap >= 1) return;
  const int to = schedule_.chunk_rank[message.edge.consumer];
  const double alone = as_one(*durations_.network, durations_.network->route(rank, to))
                           .seconds(durations_.network->bytes(message.edge, message.micro_batch));
  message.freed_at = now_ + (1 - durations_.network->overlap) * alone;
  occupy(rank, message.freed_at);
}

// On shared links the time of arrival is not known yet: messages that start later slow this one
// down. Otherwise it is known, and becomes an event.
void EventSimulator::start_if_ready(Message& message) {
  if (!message.sent || !message.posted) return;
  message.started_at = now_;
  const int number = number_of(message.edge, message.micro_batch);
  if (traffic_) {
    const int from = schedule_.chunk_rank[message.edge.producer];
    const int to = schedule_.chunk_rank[message.edge.consumer];
    traffic_->start(now_, number, durations_.network->route(from, to),
                    durations_.network->bytes(message.edge, message.micro_batch));
    return;
  }
  const auto& transfer = durations_.transfer;
  const double seconds = transfer ? transfer(message.edge, message.micro_batch) : 0;
  add_event({.time = now_ + seconds, .message = number});
}

// The arrival of an activation may also free the producer's slot: an offloaded micro-batch leaves
// the device once its output has arrived. A gradient frees none.
void EventSimulator::arrive(int number) {
  Message& message = messages_[number];
  message.arrived = true;
  message.arrived_at = now_;
  go_on(schedule_.chunk_rank[message.edge.consumer]);
  if (copies_.empty() || message.edge.kind == Edge::Kind::gradient) return;
  leave(message.edge.producer, message.micro_batch);
}

/// Gives each chunk as many slots as its lists need, if any rank offloads.
void EventSimulator::take_slots() {
  const auto offloads = [](const Action& action) { return action.kind == ActionKind::offload; };
  if (std::ranges::none_of(schedule_.ranks,
                           [&](const auto& list) { return std::ranges::any_of(list, offloads); }))
    return;
  result_.copies.resize(schedule_.ranks.size());
  copies_.resize(static_cast<std::size_t>(schedule_.chunks()) * micro_batches_);
  for (int chunk = 0; chunk < schedule_.chunks(); ++chunk)
    slots_.push_back({.free = count_in_flight(schedule_, chunk).slots});
}

// A forward takes a slot. A backward of an offloaded micro-batch waits for its reload, which has
// taken one, and the last part of the backward frees it. A backward of a micro-batch that stayed
// has had its slot since forward.
bool EventSimulator::take_room(int rank, const Action& action) {
  if (slots_.empty()) return true;
  if (action.kind == ActionKind::forward) {
    int& free = slots_[action.chunk].free;
    if (free == 0) return false;
    --free;
    return true;
  }
  const Copy& copy = copies_[copy_of(action.chunk, action.micro_batch)];
  const bool begins = action.kind != ActionKind::backward_weight;
  if (begins && copy.offloads && !copy.is_back) return false;
  if (action.kind != ActionKind::backward_input) ranks_[rank].ending = action.chunk;
  return true;
}

// Copies out follow each other, beside the rank's computing.
void EventSimulator::offload(int rank, const Action& action) {
  double& out_at = ranks_[rank].out_at;
  const double start = std::max(now_, out_at);
  out_at = start + durations_.compute(action);
  const int number = copy_of(action.chunk, action.micro_batch);
  copies_[number].offloads = true;
  result_.copies[rank].push_back({action, start, out_at});
  add_event({.time = out_at, .copy = number});
}

/// Ends an offload or, if the offload has ended before, the reload.
void EventSimulator::end_copy(int number) {
  const int chunk = number / micro_batches_, micro_batch = number % micro_batches_;
  Copy& copy = copies_[number];
  if (copy.is_out) {
    copy.is_back = true;
    return go_on(schedule_.chunk_rank[chunk]);
  }
  copy.is_out = true;
  leave(chunk, micro_batch);
}

void EventSimulator::leave(int chunk, int micro_batch) {
  const Edge sent{chunk, chunk + 1, Edge::Kind::activation};
  Copy& copy = copies_[copy_of(chunk, micro_batch)];
  if (!copy.is_out || copy.has_left) return;
  if (is_message(schedule_, sent) && !messages_[number_of(sent, micro_batch)].arrived) return;
  copy.has_left = true;
  ++slots_[chunk].free;
  go_on(schedule_.chunk_rank[chunk]);  // a forward that waits for the slot goes first
  start_reloads(chunk);
}

void EventSimulator::free_slot(int chunk) {
  ++slots_[chunk].free;
  start_reloads(chunk);
}

// Reloads keep their order: if the first one's micro-batch has not left the device yet, those after
// it wait too.
void EventSimulator::start_reloads(int chunk) {
  Slots& slots = slots_[chunk];
  const int rank = schedule_.chunk_rank[chunk];
  while (slots.free > 0 && !slots.reloads.empty()) {
    const int number = copy_of(chunk, slots.reloads.front());
    if (!copies_[number].has_left) return;
    double& back_at = ranks_[rank].back_at;
    const Action action{ActionKind::reload, chunk, slots.reloads.front()};
    const double start = std::max(now_, back_at);
    back_at = start + durations_.compute(action);
    result_.copies[rank].push_back({action, start, back_at});
    add_event({.time = back_at, .copy = number});
    --slots.free;
    slots.reloads.pop_front();
  }
}

void EventSimulator::reduce(int rank, const Action& action) {
  double& reduced_at = ranks_[rank].reduced_at;
  const double start = std::max(now_, reduced_at);
  reduced_at = start + durations_.compute(action);
  record(rank, action, start, reduced_at);
}

void EventSimulator::step(int rank, double start) {
  const Action& action = schedule_.ranks[rank][ranks_[rank].next++];
  const double end = start + (durations_.step ? durations_.step(rank) : durations_.compute(action));
  record(rank, action, start, end);
  occupy(rank, end);
}

// At a barrier all ranks start together, after the last reduction on any of them.
void EventSimulator::step_together() {
  double start = now_;
  for (const Rank& rank : ranks_) start = std::max(start, rank.reduced_at);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    ranks_[rank].at_barrier = false;
    step(rank, start);
  }
}

void EventSimulator::record(int rank, const Action& action, double start, double end) {
  result_.ranks[rank].push_back({action, start, end});
}

void EventSimulator::occupy(int rank, double time) {
  ranks_[rank].busy_until = time;
  add_event({.time = time, .rank = rank});
}

void EventSimulator::add_event(Event event) {
  event.number = events_added_++;
  events_.push(event);
}

// Messages are found by number, without a map. Each use writes the edge, as any may be the first.
int EventSimulator::number_of(const Edge& edge, int micro_batch) {
  const int number = edge.number() * micro_batches_ + micro_batch;
  messages_[number].edge = edge;
  messages_[number].micro_batch = micro_batch;
  return number;
}

bool EventSimulator::has_input(const Action& action) {
  const auto edge = input_edge(schedule_, action);
  return !edge || messages_[number_of(*edge, action.micro_batch)].arrived;
}

std::vector<TimedMessage> EventSimulator::messages() const {
  std::vector<TimedMessage> list;
  for (const Message& message : messages_) {
    if (!message.arrived) continue;
    list.push_back({.edge = message.edge,
                    .micro_batch = message.micro_batch,
                    .from = schedule_.chunk_rank[message.edge.producer],
                    .to = schedule_.chunk_rank[message.edge.consumer],
                    .sent = message.sent_at,
                    .freed = message.freed_at,
                    .start = message.started_at,
                    .end = message.arrived_at});
  }
  std::ranges::stable_sort(list, {}, &TimedMessage::start);
  return list;
}

double EventSimulator::makespan() const {
  std::optional<double> first;
  double last = 0;
  for (const auto& list : result_.ranks) {
    for (const TimedAction& timed : list) {
      first = std::min(first.value_or(timed.start), timed.start);
      last = std::max(last, timed.end);
    }
  }
  return last - first.value_or(0);
}

}  // namespace penstock::partition
