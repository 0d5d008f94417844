#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "partition/schedule/edge.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Runs lists as the executor does: buffers are taken from rings of the planned sizes, and a send
/// is done, and what it sends from free, only once its receive has been posted.
class Rings {
 public:
  Rings(const Schedule& schedule, bool sends_from_slot)
      : schedule_(schedule),
        sends_from_slot_(sends_from_slot && splits_backward(schedule)),
        next_(schedule.ranks.size(), 0) {
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      free_.push_back(count_in_flight(schedule, chunk));
  }

  /// Returns where a rank waits for ever; empty if all lists end.
  std::string run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < next_.size(); ++rank)
        while (next_[rank] < schedule_.ranks[rank].size() &&
               perform(schedule_.ranks[rank][next_[rank]])) {
          ++next_[rank];
          moved = true;
        }
    }
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] < schedule_.ranks[rank].size())
        return "rank " + std::to_string(rank) + " waits at " +
               describe(schedule_.ranks[rank][next_[rank]]);
    return "";
  }

 private:
  struct Flight {
    bool slot = false, input_gradient = false, ended = false;
    bool activation_sent = false, gradient_sent = false;
  };
  using Key = std::tuple<Edge, int>;

  Edge activation_from(int chunk) const { return {chunk, chunk + 1, Edge::Kind::activation}; }
  Edge gradient_from(int chunk) const { return {chunk, chunk - 1, Edge::Kind::gradient}; }
  Edge activation_to(int chunk) const { return {chunk - 1, chunk, Edge::Kind::activation}; }
  Edge gradient_to(int chunk) const { return {chunk + 1, chunk, Edge::Kind::gradient}; }
  bool message(const Edge& edge) const { return is_message(schedule_, edge); }
  bool arrived(const Edge& edge, int m) const {
    return sent_.contains({edge, m}) && posted_.contains({edge, m});
  }

  void reclaim(int chunk) {
    for (auto& [key, flight] : flights_) {
      const auto [of, m] = key;
      if (of != chunk) continue;
      const bool gradient_left =
          flight.gradient_sent && (!message(gradient_from(of)) || arrived(gradient_from(of), m));
      if (flight.input_gradient && gradient_left) {
        flight.input_gradient = false;
        ++free_[of].input_gradients;
      }
      const bool activation_left = !message(activation_from(of)) || arrived(activation_from(of), m);
      const bool from_slot = sends_from_slot_ && of > 0;
      if (flight.slot && flight.ended && activation_left && (!from_slot || gradient_left)) {
        flight.slot = false;
        ++free_[of].slots;
      }
    }
  }

  bool take(int& ring, int chunk) {
    reclaim(chunk);
    if (ring == 0) return false;
    --ring;
    return true;
  }

  bool perform(const Action& a) {
    if (a.kind == ActionKind::reduce || a.kind == ActionKind::step) return true;
    Flight& flight = flights_[{a.chunk, a.micro_batch}];
    InFlight& free = free_[a.chunk];
    switch (a.kind) {
      case ActionKind::receive_activation:
        if (!take(free.inputs, a.chunk)) return false;
        posted_.insert({{activation_to(a.chunk), a.micro_batch}, true});
        return true;
      case ActionKind::receive_gradient:
        if (!take(free.output_gradients, a.chunk)) return false;
        posted_.insert({{gradient_to(a.chunk), a.micro_batch}, true});
        return true;
      case ActionKind::send_activation:
        sent_.insert({{activation_from(a.chunk), a.micro_batch}, true});
        return true;
      case ActionKind::send_gradient:
        sent_.insert({{gradient_from(a.chunk), a.micro_batch}, true});
        flight.gradient_sent = true;
        return true;
      case ActionKind::forward:
        return forward(a, flight);
      case ActionKind::backward:
      case ActionKind::backward_input:
        return backward_input(a, flight);
      case ActionKind::backward_weight:
        end(a, flight);
        return true;
      default:
        return true;
    }
  }

  bool forward(const Action& a, Flight& flight) {
    InFlight& free = free_[a.chunk];
    const Edge in = activation_to(a.chunk);
    const bool receives = a.chunk > 0 && message(in);
    if (receives && !arrived(in, a.micro_batch)) return false;
    reclaim(a.chunk);
    if (free.slots == 0 || (!receives && free.inputs == 0)) return false;
    --free.slots;
    if (!receives) --free.inputs;
    flight.slot = true;
    return true;
  }

  bool backward_input(const Action& a, Flight& flight) {
    const bool first = a.chunk == 0;
    const Edge in = gradient_to(a.chunk);
    if (!last(a.chunk) && message(in) && !arrived(in, a.micro_batch)) return false;
    const bool passes_on = !first && !message(gradient_from(a.chunk));
    if (passes_on && free_[a.chunk - 1].output_gradients == 0) return false;
    if (!first && !sends_from_slot_) {
      if (!take(free_[a.chunk].input_gradients, a.chunk)) return false;
      flight.input_gradient = true;
    }
    if (passes_on) {
      --free_[a.chunk - 1].output_gradients;
      flight.gradient_sent = true;
    }
    if (a.kind == ActionKind::backward) end(a, flight);
    return true;
  }

  bool last(int chunk) const { return chunk + 1 == schedule_.chunks(); }

  void end(const Action& a, Flight& flight) {
    flight.ended = true;
    ++free_[a.chunk].inputs;
    if (!last(a.chunk)) ++free_[a.chunk].output_gradients;
  }

  const Schedule& schedule_;
  bool sends_from_slot_;
  std::vector<std::size_t> next_;
  std::vector<InFlight> free_;
  std::map<std::tuple<int, int>, Flight> flights_;
  std::map<Key, bool> sent_, posted_;
};

class BufferRings : public testing::TestWithParam<std::string_view> {};

TEST_P(BufferRings, PlannedSizesNeverDeadlock) {
  for (int stages = 1; stages <= 9; ++stages)
    for (int micro_batches = 1; micro_batches <= 25; ++micro_batches) {
      const Schedule schedule = make_schedule(GetParam(), stages, micro_batches);
      for (const bool from_slot : {false, true})
        EXPECT_EQ(Rings(schedule, from_slot).run(), "")
            << schedule.name << ", " << stages << " stages, " << micro_batches << " micro-batches";
    }
}

INSTANTIATE_TEST_SUITE_P(Of, BufferRings, testing::ValuesIn(schedule_names()),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace penstock::partition
