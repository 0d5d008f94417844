#include "partition/planner/search/greedy.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

namespace penstock::partition {
namespace {

// List scheduling: the rank with the earliest clock among those that can run takes the next turn. A
// rank that has nothing to run waits until another rank takes a turn. Memory cannot block all
// ranks, because has_room() reserves what older micro-batches still need.

constexpr double kNotYet = std::numeric_limits<double>::infinity();

/// The state of one rank.
struct RankLists {
  std::vector<int> chunks;
  std::deque<Turn> weights;  // weight gradients that are still to run, oldest first
  std::vector<Turn> turns;
  double clock = 0, held = 0;
  bool waits = false;  // true until another rank takes a turn
};

class Greedy {
 public:
  Greedy(const ScheduleProblem& problem, std::vector<int> order)
      : problem_(problem), order_(std::move(order)), ranks_(problem.ranks()) {
    for (int chunk = 0; chunk < problem.chunks(); ++chunk)
      ranks_[problem.chunk_rank[chunk]].chunks.push_back(chunk);
    forward_ends_.resize(problem.chunks());
    input_ends_.resize(problem.chunks());
    weights_.assign(problem.chunks(), 0);
  }

  Pattern pattern() {
    while (RankLists* rank = next()) run(*rank);
    Pattern pattern{.ranks = {}, .order = std::move(order_)};
    for (RankLists& rank : ranks_) pattern.ranks.push_back(std::move(rank.turns));
    return pattern;
  }

 private:
  std::size_t turns_of(const RankLists& rank) const { return 3 * rank.chunks.size() * places(); }
  std::size_t places() const { return order_.size(); }

  /// Returns the rank with the earliest clock among those that may run, or null.
  RankLists* next() {
    RankLists* first = nullptr;
    for (RankLists& rank : ranks_) {
      if (rank.waits || rank.turns.size() == turns_of(rank)) continue;
      if (first == nullptr || rank.clock < first->clock) first = &rank;
    }
    return first;
  }

  /// Returns the time at which the input of the chunk's next pass of that kind is there, or
  /// kNotYet.
  double ready(const Turn& turn) const {
    const bool forward = turn.kind == ActionKind::forward;
    const int chunk = turn.chunk;
    const std::size_t place = (forward ? forward_ends_ : input_ends_)[chunk].size();
    if (place == places()) return kNotYet;
    if (forward && chunk == 0) return 0;
    const bool turns = !forward && chunk + 1 == problem_.chunks();
    const int from = turns ? chunk : forward ? chunk - 1 : chunk + 1;
    const auto& ends = (forward || turns ? forward_ends_ : input_ends_)[from];
    if (place >= ends.size()) return kNotYet;
    return ends[place] + (turns ? 0 : problem_.transfer_after(std::min(chunk, from)));
  }

  /// Returns the memory that the micro-batch at `place` holds on the rank now.
  double held(const RankLists& rank, std::size_t place) const {
    double held = 0;
    for (const int chunk : rank.chunks)
      if (weights_[chunk] <= place && place < forward_ends_[chunk].size())
        held += problem_.held_by(chunk, order_[place]);
    return held;
  }

  /// Returns the memory that the micro-batch at `place` holds on the rank with all chunks.
  double alone(const RankLists& rank, std::size_t place) const {
    double held = 0;
    for (const int chunk : rank.chunks) held += problem_.held_by(chunk, order_[place]);
    return held;
  }

  /// Returns true if the rank can run the chunk's next forward. After it, every older micro-batch
  /// must still fit with all its chunks, beside what the micro-batches after it hold.
  bool has_room(const RankLists& rank, int chunk) const {
    const std::size_t place = forward_ends_[chunk].size();
    const double more = problem_.held_by(chunk, order_[place]);
    if (!problem_.fits(rank.held + more)) return false;
    const std::size_t oldest = forward_ends_[rank.chunks.back()].size();
    double behind = more;  // memory of the micro-batches after `at`
    for (std::size_t at = std::max(forward_ends_[rank.chunks.front()].size(), place + 1);
         at-- > oldest;) {
      if (at < place && !problem_.fits(behind + alone(rank, at))) return false;
      behind += held(rank, at);
    }
    return true;
  }

  void run(RankLists& rank) {
    double earliest = kNotYet;
    std::optional<Turn> turn;
    const auto consider = [&](const Turn& candidate) {
      const double when = ready(candidate);
      if (when == kNotYet) return;
      if (candidate.kind == ActionKind::forward && !has_room(rank, candidate.chunk)) return;
      earliest = std::min(earliest, when);
      if (!turn && when <= rank.clock) turn = candidate;
    };
    for (const int chunk : rank.chunks) consider({ActionKind::backward_input, chunk});
    for (auto chunk = rank.chunks.rbegin(); chunk != rank.chunks.rend(); ++chunk)
      consider({ActionKind::forward, *chunk});
    if (!turn && !rank.weights.empty()) {
      turn = rank.weights.front();
      rank.weights.pop_front();
    }
    if (turn)
      take(rank, *turn);
    else if (earliest < kNotYet)
      rank.clock = earliest;
    else
      rank.waits = true;
  }

  void take(RankLists& rank, const Turn& turn) {
    auto& ends = turn.kind == ActionKind::forward ? forward_ends_ : input_ends_;
    const bool weight = turn.kind == ActionKind::backward_weight;
    const std::size_t place = weight ? weights_[turn.chunk]++ : ends[turn.chunk].size();
    rank.clock += problem_.times[turn.chunk][order_[place]].of(turn.kind);
    if (!weight) ends[turn.chunk].push_back(rank.clock);
    const double held = problem_.held_by(turn.chunk, order_[place]);
    if (turn.kind == ActionKind::forward) rank.held += held;
    if (weight) rank.held -= held;
    if (turn.kind == ActionKind::backward_input)
      rank.weights.push_back({ActionKind::backward_weight, turn.chunk});
    rank.turns.push_back(turn);
    for (RankLists& other : ranks_) other.waits = false;
  }

  const ScheduleProblem& problem_;
  std::vector<int> order_;
  std::vector<RankLists> ranks_;
  std::vector<std::vector<double>> forward_ends_, input_ends_;  // [chunk][place]
  std::vector<std::size_t> weights_;  // [chunk]: number of weight gradients done
};

}  // namespace

Pattern greedy(const ScheduleProblem& problem, std::vector<int> order) {
  return Greedy(problem, std::move(order)).pattern();
}

}  // namespace penstock::partition
