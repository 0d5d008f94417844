#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/schedule.h"

// Let every pass of micro-batch b run in slot at + per_rank · rank + 6 · b (Wave, Repetition). A
// rank then does the same six passes in every six slots, and the pairs that it holds follow from
// how long one micro-batch stays on it, from a chunk's forward to its input gradient. On rank r of
// p these are, in slots:
//   v-half: 6p-2+wait - 3r on the way down, 1+wait + 3r on the way up; sum 6p-1 + 2·wait
//   v-min:  4p-1+wait - 2r on the way down, 1+wait + 2r on the way up; sum 4p + 2·wait
// The sum is the same on every rank. A new micro-batch comes every 6 slots, so a rank holds about a
// sixth of it: p or 2p/3 pairs. 1F1B would hold 2p on the first rank.
//
// That is the steady state. Slots simulates the whole run around it: before the pattern is full,
// and after the last micro-batch has begun, passes run early if their input has arrived and memory
// allows it. Weight gradients have no place in the pattern and fill the slots that are left.

namespace penstock::partition {
namespace {

/// The passes of a micro-batch on a rank except weight gradients, in order. The first and the third
/// go down the ranks, the others up.
constexpr int kForwardDown = 0, kForwardUp = 1, kInputUp = 2, kInputDown = 3, kPasses = 4;

constexpr int kEvery = 6;  // slots between two micro-batches: three passes on each of two chunks

/// A Wave is the slot of micro-batch 0 in one pass, as a linear function of the rank.
struct Wave {
  int at = 0, per_rank = 0;
};

/// A Repetition is the pattern of slots that every micro-batch repeats, kEvery slots after the one
/// before it.
struct Repetition {
  std::array<Wave, kPasses> waves;
  int regular_from = 0;  // passes with earlier slots may run before their slot
  int pairs = 0;         // maximum number of pairs of chunk and micro-batch on a rank

  int slot(int pass, int rank, int batch) const {
    return waves[pass].at + waves[pass].per_rank * rank + kEvery * batch;
  }
};

/// Progress is what one rank has done so far.
struct Progress {
  std::array<std::vector<int>, kPasses> slots;  // slot of each pass and micro-batch
  std::deque<Action> weights;                   // weight gradients that are still to run
  int held = 0, held_down = 0;  // pairs held on both chunks, and on the chunk on the way down
  std::vector<Action> list;
};

/// Slots turns the pattern into lists by simulating slot after slot. In each slot every rank runs,
/// of the passes that are ready, the one with the earliest slot in the pattern. If none is ready,
/// it runs a weight gradient. A forward on the way down always leaves one pair free for a forward
/// on the way up, so the oldest micro-batch can always proceed.
class Slots {
 public:
  Slots(const Repetition& repetition, int ranks, int micro_batches)
      : repetition_(repetition), micro_batches_(micro_batches), ranks_(ranks) {}

  std::vector<std::vector<Action>> lists() {
    const std::size_t passes = std::size_t{6} * micro_batches_;
    const auto whole = [&](const Progress& rank) { return rank.list.size() == passes; };
    for (int slot = 0; !std::ranges::all_of(ranks_, whole); ++slot) {
      for (int rank = 0; rank < ranks(); ++rank) take(slot, rank);
    }
    std::vector<std::vector<Action>> lists;
    for (Progress& rank : ranks_) lists.push_back(std::move(rank.list));
    return lists;
  }

 private:
  int ranks() const { return static_cast<int>(ranks_.size()); }
  int next(int pass, int rank) const { return static_cast<int>(ranks_[rank].slots[pass].size()); }

  /// Returns true if the pass's input has arrived. It comes from the neighbouring rank, or from the
  /// preceding pass on the same rank where the direction turns.
  bool arrived(int slot, int pass, int rank) const {
    const bool down = pass == kForwardDown || pass == kInputUp;
    const int from = down ? rank - 1 : rank + 1;
    const bool turns = from < 0 || from == ranks();
    if (turns && pass == kForwardDown) return true;
    const auto& slots = turns ? ranks_[rank].slots[pass - 1] : ranks_[from].slots[pass];
    const std::size_t batch = ranks_[rank].slots[pass].size();
    return batch < slots.size() && slots[batch] < slot;
  }

  bool has_room(int pass, int rank) const {
    const Progress& at = ranks_[rank];
    if (pass == kForwardDown && at.held_down + 1 == repetition_.pairs) return false;
    return pass > kForwardUp || at.held < repetition_.pairs;
  }

  /// Returns true if the pattern allows the next micro-batch to run this pass.
  bool due(int slot, int pass, int rank) const {
    const int regular = repetition_.slot(pass, rank, next(pass, rank));
    const int last_start = repetition_.slot(kForwardDown, 0, micro_batches_ - 1);
    return slot >= regular || slot >= last_start || regular < repetition_.regular_from;
  }

  /// Returns the ready pass with the earliest slot in the pattern, if any pass is ready.
  std::optional<int> best_pass(int slot, int rank) const {
    std::optional<int> best;
    int earliest = 0;
    for (int pass = 0; pass < kPasses; ++pass) {
      const int batch = next(pass, rank);
      if (batch == micro_batches_ || !due(slot, pass, rank) || !has_room(pass, rank) ||
          !arrived(slot, pass, rank))
        continue;
      const int regular = repetition_.slot(pass, rank, batch);
      if (best && regular >= earliest) continue;
      best = pass;
      earliest = regular;
    }
    return best;
  }

  void take(int slot, int rank) {
    Progress& at = ranks_[rank];
    if (const auto pass = best_pass(slot, rank)) {
      const bool forward = *pass <= kForwardUp;
      const int chunk = *pass == kForwardDown || *pass == kInputDown ? rank : up(rank);
      const int batch = next(*pass, rank);
      at.slots[*pass].push_back(slot);
      at.held += forward ? 1 : 0;
      at.held_down += *pass == kForwardDown ? 1 : 0;
      at.list.push_back({forward ? ActionKind::forward : ActionKind::backward_input, chunk, batch});
      if (!forward) at.weights.push_back({ActionKind::backward_weight, chunk, batch});
    } else if (!at.weights.empty()) {
      --at.held;
      at.held_down -= at.weights.front().chunk == rank ? 1 : 0;
      at.list.push_back(at.weights.front());
      at.weights.pop_front();
    }
  }

  int up(int rank) const { return 2 * ranks() - 1 - rank; }

  const Repetition& repetition_;
  int micro_batches_;
  std::vector<Progress> ranks_;
};

Schedule repeating(std::string name, int stages, int micro_batches, const Repetition& repetition) {
  Schedule schedule{.name = std::move(name), .micro_batches = micro_batches};
  schedule.chunk_rank = chunks_in_a_v(stages);
  schedule.ranks = Slots(repetition, stages, micro_batches).lists();
  return complete(std::move(schedule));
}

}  // namespace

// The two patterns below add a delay `wait` where passes of different micro-batches would otherwise
// share a slot.
Schedule v_half(int stages, int micro_batches) {
  const int p = stages, wait = p % 2 == 0 ? 3 : 0;
  const Repetition repetition{
      .waves = {{{0, 2}, {3 * p - 2, -1}, {3 * p - 1 + wait, 2}, {6 * p - 2 + wait, -1}}},
      .regular_from = 5 * p - 1 + wait,  // the last rank's last pass
      .pairs = 2 * ((p + 2) / 2)};
  return repeating("v-half", stages, micro_batches, repetition);
}

Schedule v_min(int stages, int micro_batches) {
  const int p = stages, wait = p % 3 == 0 ? 2 : 0;
  const Repetition repetition{
      .waves = {{{0, 1}, {2 * p - 1, -1}, {2 * p + wait, 1}, {4 * p - 1 + wait, -1}}},
      .regular_from = 2 * p + wait,  // the first gradient
      .pairs = 2 * ((p + 4) / 3)};
  return repeating("v-min", stages, micro_batches, repetition);
}

}  // namespace penstock::partition
