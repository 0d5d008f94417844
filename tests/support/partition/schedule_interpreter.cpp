#include "tests/support/partition/schedule_interpreter.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "partition/schedule/edge.h"

namespace penstock::test {
namespace {

using Value = std::uint64_t;
using Slot = std::pair<int, int>;  // chunk, micro-batch

Value mix(Value a, Value b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 31; }
Value source(int batch) { return mix(1, static_cast<Value>(batch)); }
/// Takes x for that of `batch`: two messages that are mistaken twice are no right ones.
Value layer(int chunk, int batch, Value x) {
  return mix(mix(static_cast<Value>(chunk) + 100, static_cast<Value>(batch)), x);
}
Value loss(Value y) { return mix(2, y); }
Value input_gradient(Value x, Value dy) { return mix(x, dy); }
Value add_gradient(Value sum, Value x, Value dy) { return mix(sum, mix(dy, x)); }

struct Fault {
  std::string what;
};

class Interpreter {
 public:
  explicit Interpreter(const partition::Schedule& schedule)
      : schedule_(schedule),
        next_(schedule.ranks.size(), 0),
        stepped_(schedule.ranks.size(), 0),
        sums_(schedule.chunks(), 0),
        reduced_(schedule.chunks(), 0) {
    for (int batch = 0; batch < schedule.micro_batches; ++batch)
      inputs_[{0, batch}] = source(batch);
  }

  void run(std::mt19937& random) {
    std::vector<std::size_t> turn(next_.size());
    std::iota(turn.begin(), turn.end(), 0);
    bool moved = true;
    while (moved) {
      moved = false;
      std::shuffle(turn.begin(), turn.end(), random);
      for (const std::size_t rank : turn) {
        if (next_[rank] == schedule_.ranks[rank].size()) continue;
        if (!act(rank, schedule_.ranks[rank][next_[rank]])) continue;
        ++next_[rank];
        moved = true;
      }
      if (pass_barrier()) moved = true;
    }
    check_end();
  }

 private:
  /// False: the action has to wait.
  bool act(std::size_t rank, const partition::Action& action) {
    if (action.kind == partition::ActionKind::step) return false;  // see pass_barrier
    if (!holds(rank, action.chunk)) throw Fault{"the rank does not hold the chunk"};
    const Slot slot{action.chunk, action.micro_batch};
    switch (action.kind) {
      case partition::ActionKind::receive_activation:
      case partition::ActionKind::receive_gradient:
        posts_[partition::edge_of(action)].push_back(action.micro_batch);
        return true;
      case partition::ActionKind::send_activation:
      case partition::ActionKind::send_gradient:
        return send(partition::edge_of(action), slot);
      case partition::ActionKind::forward:
        return forward(slot);
      case partition::ActionKind::backward:
        return backward_input(slot) && backward_weight(slot);
      case partition::ActionKind::backward_input:
        return backward_input(slot);
      case partition::ActionKind::backward_weight:
        return backward_weight(slot);
      case partition::ActionKind::offload:
        return offload(slot);
      case partition::ActionKind::reload:
        return move_saved(host_, saved_, slot);
      default:
        return reduce(action.chunk);
    }
  }

  bool holds(std::size_t rank, int chunk) const {
    return chunk >= 0 && chunk < schedule_.chunks() &&
           schedule_.chunk_rank[chunk] == static_cast<int>(rank);
  }

  static void put(std::map<Slot, Value>& place, Slot slot, Value value) {
    if (!place.emplace(slot, value).second) throw Fault{"a slot is written twice"};
  }

  bool send(const partition::Edge& edge, Slot slot) {
    auto& outbox = outboxes_[edge];
    if (!outbox.contains(slot)) throw Fault{"nothing to send"};
    auto& posts = posts_[edge];
    if (posts.empty()) return false;
    const Slot at{edge.consumer, posts.front()};
    if (edge.kind == partition::Edge::Kind::activation)
      put(inputs_, at, outbox.at(slot));
    else
      put(gradients_, at, outbox.at(slot));
    posts.pop_front();
    outbox.erase(slot);
    return true;
  }

  void hand_on(const partition::Edge& edge, int batch, Value value) {
    if (edge.consumer < 0) return;
    if (partition::is_message(schedule_, edge))
      return put(outboxes_[edge], {edge.producer, batch}, value);
    put(edge.kind == partition::Edge::Kind::activation ? inputs_ : gradients_,
        {edge.consumer, batch}, value);
  }

  bool forward(Slot slot) {
    if (!inputs_.contains(slot)) return false;
    const Value x = inputs_.at(slot), y = layer(slot.first, slot.second, x);
    inputs_.erase(slot);
    if (!schedule_.forward_only) put(saved_, slot, x);
    if (slot.first + 1 < schedule_.chunks()) {
      hand_on({slot.first, slot.first + 1, partition::Edge::Kind::activation}, slot.second, y);
    } else if (schedule_.forward_only) {
      put(outputs_, slot, y);
    } else {
      put(gradients_, slot, loss(y));
    }
    return true;
  }

  bool backward_input(Slot slot) {
    if (!gradients_.contains(slot) || !saved_.contains(slot)) return false;
    const Value dx = input_gradient(saved_.at(slot), gradients_.at(slot));
    put(carried_, slot, gradients_.at(slot));
    gradients_.erase(slot);
    hand_on({slot.first, slot.first - 1, partition::Edge::Kind::gradient}, slot.second, dx);
    return true;
  }

  bool backward_weight(Slot slot) {
    if (!carried_.contains(slot) || !saved_.contains(slot)) return false;
    Value& sum = sums_[slot.first];
    sum = add_gradient(sum, saved_.at(slot), carried_.at(slot));
    saved_.erase(slot);
    carried_.erase(slot);
    return true;
  }

  static bool move_saved(std::map<Slot, Value>& from, std::map<Slot, Value>& to, Slot slot) {
    if (!from.contains(slot)) throw Fault{"nothing to move between device and host"};
    put(to, slot, from.at(slot));
    from.erase(slot);
    return true;
  }

  /// Moves a micro-batch's activations to the host. They hold the output that the next chunk takes.
  bool offload(Slot slot) {
    const Slot next{slot.first + 1, slot.second};
    const partition::Edge edge{slot.first, next.first, partition::Edge::Kind::activation};
    const bool waits = partition::is_message(schedule_, edge) ? outboxes_[edge].contains(slot)
                                                              : inputs_.contains(next);
    if (waits) throw Fault{"an output leaves before it is passed on"};
    return move_saved(saved_, host_, slot);
  }

  /// The sum as one rank that runs micro-batch after micro-batch would have it.
  Value expected_sum(int chunk) const {
    Value sum = 0;
    for (int batch = 0; batch < schedule_.micro_batches; ++batch) {
      std::vector<Value> x{source(batch)};
      for (int at = 0; at < schedule_.chunks(); ++at) x.push_back(layer(at, batch, x.back()));
      Value dy = loss(x.back());
      for (int at = schedule_.chunks() - 1; at > chunk; --at) dy = input_gradient(x[at], dy);
      sum = add_gradient(sum, x[chunk], dy);
    }
    return sum;
  }

  bool reduce(int chunk) {
    if (schedule_.forward_only || ++reduced_[chunk] != 1) throw Fault{"a reduce too many"};
    if (sums_[chunk] != expected_sum(chunk)) throw Fault{"a wrong sum of gradients"};
    return true;
  }

  bool pass_barrier() {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      const auto& list = schedule_.ranks[rank];
      if (next_[rank] == list.size() || list[next_[rank]].kind != partition::ActionKind::step)
        return false;
    }
    if (schedule_.forward_only) throw Fault{"a step without gradients"};
    if (std::ranges::count(reduced_, 1) != schedule_.chunks()) throw Fault{"stepped unreduced"};
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      ++next_[rank];
      if (++stepped_[rank] != 1) throw Fault{"a step too many"};
    }
    return true;
  }

  void check_end() const {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] != schedule_.ranks[rank].size()) throw Fault{"a hang"};
      if (!schedule_.forward_only && stepped_[rank] != 1) throw Fault{"not stepped"};
    }
    bool left = !inputs_.empty() || !gradients_.empty() || !saved_.empty() || !carried_.empty();
    left = left || !host_.empty();
    for (const auto& [edge, posts] : posts_) left = left || !posts.empty();
    for (const auto& [edge, outbox] : outboxes_) left = left || !outbox.empty();
    if (left) throw Fault{"something is left over"};
    if (!schedule_.forward_only) return;
    for (int batch = 0; batch < schedule_.micro_batches; ++batch) {
      Value y = source(batch);
      for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) y = layer(chunk, batch, y);
      const auto found = outputs_.find({schedule_.chunks() - 1, batch});
      if (found == outputs_.end() || found->second != y) throw Fault{"a wrong output"};
    }
  }

  const partition::Schedule& schedule_;
  std::vector<std::size_t> next_;
  std::vector<int> stepped_;
  std::vector<Value> sums_;
  std::vector<int> reduced_;
  std::map<Slot, Value> inputs_, saved_, host_, gradients_, carried_, outputs_;
  std::map<partition::Edge, std::map<Slot, Value>> outboxes_;
  std::map<partition::Edge, std::deque<int>> posts_;
};

}  // namespace

std::string run_schedule(const partition::Schedule& schedule, std::mt19937& random) {
  try {
    Interpreter(schedule).run(random);
  } catch (const Fault& fault) {
    return fault.what;
  }
  return "";
}

}  // namespace penstock::test
