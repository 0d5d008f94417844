#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// A sum_disjoint() under way, beside other work. Every rank sends its numbers to every other one,
/// so that none waits for another to pass something on: between the two calls messages alone have
/// to move. All ranks make theirs in the same order, with as many numbers.
class [[nodiscard]] DisjointSum {
 public:
  DisjointSum(Communicator& ranks, std::vector<double> own);
  DisjointSum(const DisjointSum&) = delete;
  DisjointSum& operator=(const DisjointSum&) = delete;

  /// Waits for all ranks' numbers and gives their sums, once. Each entry must be non-zero on at
  /// most one rank. CommError as from the communicator.
  [[nodiscard]] std::vector<double> finish();

 private:
  Communicator& ranks_;
  std::vector<double> own_;
  std::vector<std::vector<double>> others_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace penstock::comm
