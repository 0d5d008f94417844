#pragma once

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace penstock::test {

/// Gathers numbers that a rank, a process of its own, has measured, by name; all ranks have the
/// same names.
class RankReport {
 public:
  void add(const std::string& name, double value) { values_.emplace_back(name, value); }

  /// Counts anew what is read, the peak of memory, and seconds.
  void begin();
  /// Adds what has been read since: files, shards, bytes.
  void reads(const std::string& phase);
  /// Adds the seconds of a core since begin() or the last lap.
  void lap(const std::string& phase);
  /// Adds the memory at begin(), and the most since.
  void peak(const std::string& phase);

  /// Prints the minimum, maximum and sum of each number on rank 0. All ranks call it together.
  void print(comm::Communicator& world) const;

 private:
  std::vector<std::pair<std::string, double>> values_;
  std::clock_t clock_ = std::clock();
  double resident_ = 0;
};

}  // namespace penstock::test
