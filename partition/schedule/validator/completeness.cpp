#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "partition/schedule/edge.h"
#include "partition/schedule/validator/positions.h"
#include "partition/schedule/validator/proofs.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {
namespace {

using Kind = ActionKind;

/// Completeness checks one schedule. It records the position of every action in a table, first of
/// computations and then of all others. Each check is then a look-up, so the cost is linear in the
/// size of the table (positions.h).
class Completeness {
 public:
  explicit Completeness(const Schedule& schedule) : schedule_(schedule) {}

  void check() {
    check_holders();
    check_number();
    positions_.emplace(schedule_);
    // Computations are checked first: a transfer may be wrong or missing only because of one.
    find_positions(true);
    for (int chunk = 0; chunk < schedule_.chunks(); ++chunk)
      for (int batch = 0; batch < schedule_.micro_batches; ++batch) need_computations(chunk, batch);
    find_positions(false);
    for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) {
      for (int batch = 0; batch < schedule_.micro_batches; ++batch) check_passage(chunk, batch);
      if (!schedule_.forward_only) check_gradient_order(chunk);
    }
    if (!schedule_.forward_only) check_ends();
    if (surplus_ || needed_ != positions_->size()) throw_surplus();
  }

 private:
  void check_holders() const {
    const int ranks = static_cast<int>(schedule_.ranks.size());
    if (schedule_.micro_batches < 1 || schedule_.chunks() < 1 || ranks < 1) {
      throw_unsound(schedule_, {"it needs at least one rank, chunk and micro-batch"});
    }
    for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) {
      const int rank = schedule_.chunk_rank[chunk];
      if (rank >= 0 && rank < ranks) continue;
      throw_unsound(schedule_,
                    {fmt::format("chunk {} is held by rank {} of {}", chunk, rank, ranks)});
    }
  }

  /// Checks that there is an action for each micro-batch and chunk, before a table of these is
  /// made: a file of a few bytes may name the two-billionth micro-batch. If there are too few, the
  /// first forward that is missing is named.
  void check_number() const {
    std::size_t actions = 0;
    for (const auto& list : schedule_.ranks) actions += list.size();
    const auto needed = static_cast<std::size_t>(schedule_.chunks()) *
                        static_cast<std::size_t>(schedule_.micro_batches);
    if (needed <= actions) return;
    std::set<std::pair<int, int>> forwards;
    for (const auto& list : schedule_.ranks)
      for (const Action& action : list)
        if (action.kind == Kind::forward) forwards.insert({action.chunk, action.micro_batch});
    std::pair<int, int> missing = {0, 0};
    while (forwards.contains(missing)) {
      if (++missing.second < schedule_.micro_batches) continue;
      missing = {missing.first + 1, 0};
    }
    throw_lacking({Kind::forward, missing.first, missing.second},
                  schedule_.chunk_rank[static_cast<std::size_t>(missing.first)]);
  }

  [[noreturn]] void throw_lacking(const Action& action, int rank) const {
    throw_unsound(schedule_, {fmt::format("rank {} lacks {}", rank, describe(action))});
  }

  /// Records the positions of the actions that compute, or of the others.
  void find_positions(bool computing) {
    for (int rank = 0; rank < static_cast<int>(schedule_.ranks.size()); ++rank)
      for (std::size_t index = 0; index < schedule_.ranks[rank].size(); ++index)
        if (computes(schedule_.ranks[rank][index].kind) == computing) add({rank, index});
  }

  /// Records an action, which must be on the rank of its chunk and appear once. One that no
  /// schedule of this size may hold is noted only: a missing action, if there is one, is the better
  /// message.
  void add(const Position& position) {
    const Action& action = schedule_.ranks[position.rank][position.index];
    if (action.kind != Kind::step && (action.chunk < 0 || action.chunk >= schedule_.chunks() ||
                                      schedule_.chunk_rank[action.chunk] != position.rank)) {
      throw_unsound(schedule_, {position, ": this rank does not hold the chunk"});
    }
    if (!positions_->may_hold(action, position.rank)) {
      surplus_ = true;
      return;
    }
    if (const auto first = find(action, position.rank))
      throw_unsound(schedule_, {position, " is already at ", SameRank{*first}});
    positions_->add(action, position);
  }

  std::optional<Position> find(const Action& action, int rank) const {
    return positions_->find(action, rank);
  }

  /// Returns the position of an action, and throws if it is missing.
  Position require(const Action& action, int rank) const {
    const auto position = find(action, rank);
    if (!position) throw_lacking(action, rank);
    return *position;
  }
  /// Does the same, and counts the action as needed.
  Position need(const Action& action, int rank) {
    ++needed_;
    return require(action, rank);
  }

  /// Checks the order of two actions of one rank. Orders between ranks follow from messages, which
  /// check_progress() runs.
  void check_order(const Position& before, const Position& after) const {
    if (before.index < after.index) return;
    throw_unsound(schedule_, {after, " must come after ", SameRank{before}});
  }

  /// Checks that a computation's input is there before it, on the same rank: from a receive, or
  /// from the neighbouring chunk if that is local.
  void check_source(const Action& receive, const Action& local, const Position& computation) {
    const Edge edge = edge_of(receive);
    if (edge.producer < 0 || edge.producer >= schedule_.chunks())
      return;  // the chunk is at an end of the layer sequence
    const bool message = is_message(schedule_, edge);
    check_order(message ? need(receive, computation.rank) : require(local, computation.rank),
                computation);
  }

  /// Checks that a message is sent, after what computes it. Within a rank there is nothing to send.
  void check_send(const Action& send, const Position& computation) {
    if (is_message(schedule_, edge_of(send))) {
      check_order(computation, need(send, computation.rank));
    }
  }

  /// Checks that a micro-batch passes a chunk once: forward, and either both gradients at once or
  /// each of them. If it has no gradient at all, the message asks for the whole backward.
  void need_computations(int chunk, int batch) {
    const int rank = schedule_.chunk_rank[chunk];
    need({Kind::forward, chunk, batch}, rank);
    if (schedule_.forward_only) return;
    const Action input = input_gradient(chunk, batch), weight{Kind::backward_weight, chunk, batch};
    const bool none = !find(input, rank) && !find(weight, rank);
    need(none ? Action{Kind::backward, chunk, batch} : input, rank);
    if (!whole(chunk, batch))
      need(weight, rank);
    else
      for (const Kind part : {Kind::backward_input, Kind::backward_weight})
        if (const auto position = find({part, chunk, batch}, rank))
          throw_unsound(schedule_, {*position, " has no purpose: both gradients come from ",
                                    SameRank{*find({Kind::backward, chunk, batch}, rank)}});
  }

  void check_passage(int chunk, int batch) {
    const int rank = schedule_.chunk_rank[chunk];
    const Position forward = require({Kind::forward, chunk, batch}, rank);
    check_source({Kind::receive_activation, chunk, batch}, {Kind::forward, chunk - 1, batch},
                 forward);
    check_send({Kind::send_activation, chunk, batch}, forward);
    if (schedule_.forward_only) return;

    const Position backward = require(input_gradient(chunk, batch), rank);
    check_order(forward, backward);
    check_source({Kind::receive_gradient, chunk, batch}, input_gradient(chunk + 1, batch),
                 backward);
    check_send({Kind::send_gradient, chunk, batch}, backward);
    if (!whole(chunk, batch)) {
      check_order(backward, weight_gradient(chunk, batch));
    }
    check_offload(chunk, batch, backward);
  }

  /// Checks that an offload follows the passing on of the output, and that its reload precedes
  /// backward.
  void check_offload(int chunk, int batch, const Position& backward) {
    const int rank = schedule_.chunk_rank[chunk];
    const Action leaves{Kind::offload, chunk, batch}, returns{Kind::reload, chunk, batch};
    if (!find(leaves, rank) && !find(returns, rank)) return;
    const Position offload = need(leaves, rank), reload = need(returns, rank);
    const Action send{Kind::send_activation, chunk, batch};
    const bool moved = chunk + 1 < schedule_.chunks() && !is_message(schedule_, edge_of(send));
    check_order(require({Kind::forward, moved ? chunk + 1 : chunk, batch}, rank), offload);
    if (is_message(schedule_, edge_of(send))) check_order(require(send, rank), offload);
    check_order(offload, reload);
    check_order(reload, backward);
  }

  /// Returns true if one action computes both gradients.
  bool whole(int chunk, int batch) const {
    return find({Kind::backward, chunk, batch}, 0).has_value();
  }
  Action input_gradient(int chunk, int batch) const {
    return {whole(chunk, batch) ? Kind::backward : Kind::backward_input, chunk, batch};
  }
  Position weight_gradient(int chunk, int batch) const {
    const Kind kind = whole(chunk, batch) ? Kind::backward : Kind::backward_weight;
    return require({kind, chunk, batch}, schedule_.chunk_rank[chunk]);
  }

  /// Checks that micro-batches are added to the weight gradient in their order, on which its bits
  /// depend, and that the sum over replicas follows the last of them.
  void check_gradient_order(int chunk) {
    for (int batch = 1; batch < schedule_.micro_batches; ++batch) {
      check_order(weight_gradient(chunk, batch - 1), weight_gradient(chunk, batch));
    }
    const Position reduce = need({Kind::reduce, chunk}, schedule_.chunk_rank[chunk]);
    check_order(weight_gradient(chunk, schedule_.micro_batches - 1), reduce);
  }

  /// Checks that each rank steps once, at its end.
  void check_ends() {
    for (int rank = 0; rank < static_cast<int>(schedule_.ranks.size()); ++rank) {
      const Position step = need({Kind::step}, rank);
      if (step.index + 1 == schedule_.ranks[rank].size()) continue;
      throw_unsound(schedule_, {step, " must be the rank's last"});
    }
  }

  /// Throws, naming an action that no micro-batch, chunk or rank needs.
  [[noreturn]] void throw_surplus() const {
    for (int rank = 0; rank < static_cast<int>(schedule_.ranks.size()); ++rank)
      for (std::size_t index = 0; index < schedule_.ranks[rank].size(); ++index)
        if (!needed(schedule_.ranks[rank][index]))
          throw_unsound(schedule_, {Position{rank, index}, " has no purpose"});
    throw_unsound(schedule_, {"it holds actions without purpose"});
  }

  bool needed(const Action& action) const {
    if (action.kind == Kind::step || action.kind == Kind::reduce) return !schedule_.forward_only;
    if (action.micro_batch < 0 || action.micro_batch >= schedule_.micro_batches) return false;
    const bool transfer = is_send(action.kind) || is_receive(action.kind);
    if (transfer && !is_message(schedule_, edge_of(action))) return false;
    const bool forward = action.kind == Kind::forward || action.kind == Kind::send_activation ||
                         action.kind == Kind::receive_activation;
    return forward || !schedule_.forward_only;
  }

  const Schedule& schedule_;
  std::optional<Positions> positions_;  // set once every chunk has a valid rank
  std::size_t needed_ = 0;              // number of needed actions that were found
  bool surplus_ = false;                // true if an action names a micro-batch that does not exist
};

}  // namespace

void check_complete(const Schedule& schedule) { Completeness(schedule).check(); }

}  // namespace penstock::partition
