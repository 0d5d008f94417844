#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// Largest number of ranks that all send to each other directly. In larger groups ranks pass on
/// sums.
inline constexpr int kDirectRanks = 16;

/// A sum_disjoint() in flight, which overlaps with other work. Up to kDirectRanks ranks send their
/// numbers to every other rank, so no rank waits for another to pass something on. Larger groups
/// take one round for each digit of the number of ranks in base kDirectRanks. In each round a rank
/// sends its partial sum to at most 2 (kDirectRanks - 1) others, and progress() starts the next
/// round. All ranks create their sums in the same order and with equally many numbers, and finish
/// them in that order.
class [[nodiscard]] DisjointSum {
 public:
  DisjointSum(Communicator& ranks, std::vector<double> own);
  DisjointSum(const DisjointSum&) = delete;
  DisjointSum& operator=(const DisjointSum&) = delete;

  void progress();

  /// Waits for all ranks' numbers and returns their sums. Call it once. Each entry must be non-zero
  /// on at most one rank, or hold whole numbers: then nothing is rounded. CommError as from the
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
  int reach_ = 1;  // `known_` is the sum over as many ranks, which end at this one
  Numbers known_;
  Numbers sum_;  // the part of the result that is complete
  std::vector<Numbers> for_known_, for_sum_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace penstock::comm
