#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// Ranks that send to each other directly; of more, some pass on what others have told.
inline constexpr int kDirectRanks = 16;

/// A sum_disjoint() under way, beside other work. Up to kDirectRanks ranks send their numbers to
/// every other one, so that none waits for another to pass something on: between the two calls
/// messages alone have to move. More ranks take a round for each digit of their number to this
/// base: in each, a rank sends what it knows to at most 2 (kDirectRanks - 1) others, and progress()
/// lets the next one begin. All ranks make theirs in the same order, with as many numbers, and end
/// them in that order.
class [[nodiscard]] DisjointSum {
 public:
  DisjointSum(Communicator& ranks, std::vector<double> own);
  DisjointSum(const DisjointSum&) = delete;
  DisjointSum& operator=(const DisjointSum&) = delete;

  void progress();

  /// Waits for all ranks' numbers and gives their sums, once. Each entry must be non-zero on at
  /// most one rank, or hold whole numbers: then nothing is rounded. CommError as from the
  /// communicator.
  [[nodiscard]] std::vector<double> finish();

 private:
  using Numbers = std::vector<double>;

  bool in_last_round() const;
  void start_round();
  void exchange(int distance, std::vector<Numbers>& received);
  void end_round();

  Communicator& ranks_;
  int round_ = 0;
  int reach_ = 1;  // ranks up to this one, backwards around, whose numbers add up to `known_`
  Numbers known_;
  Numbers sum_;  // parts of the result
  std::vector<Numbers> for_known_, for_sum_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace penstock::comm
