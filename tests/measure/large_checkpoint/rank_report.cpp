#include "tests/measure/large_checkpoint/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iostream>
#include <set>

#include "runtime/job/packing.h"
#include "tests/support/system/counted_reading.h"
#include "tests/support/system/resident_memory.h"

namespace penstock::test {

void RankReport::begin() {
  start_reading();
  restart_peak();
  resident_ = static_cast<double>(resident());
  clock_ = std::clock();
}

void RankReport::reads(const std::string& phase) {
  const Reading& read = reading();
  std::set<std::string> shards;
  for (const std::string& file : read.opened)
    if (file.ends_with(".safetensors")) shards.insert(file);
  add(phase + ": files opened", static_cast<double>(read.opened.size()));
  add(phase + ": shards among them", static_cast<double>(shards.size()));
  add(phase + ": MB read", static_cast<double>(read.mapped) / 1e6);
}

void RankReport::lap(const std::string& phase) {
  const std::clock_t now = std::clock();
  add(phase + ": seconds of a core", static_cast<double>(now - clock_) / CLOCKS_PER_SEC);
  clock_ = now;
}

void RankReport::peak(const std::string& phase) {
  add(phase + ": MB of memory before", resident_ / 1e6);
  add(phase + ": MB of memory at most", static_cast<double>(peak_resident()) / 1e6);
}

void RankReport::print(comm::Communicator& world) const {
  Packer own;
  for (const auto& [name, value] : values_) own.add(std::bit_cast<std::int64_t>(value));
  Unpacker all(runtime::gather_to_all(world, own));
  std::vector<std::vector<double>> of_ranks(values_.size());
  while (!all.empty())
    for (auto& values : of_ranks) values.push_back(std::bit_cast<double>(all.number()));
  if (world.rank() != 0) return;
  std::cout << fmt::format("{:<48}{:>12}{:>12}{:>14}\n", "of the ranks", "least", "most",
                           "together");
  for (std::size_t i = 0; i < values_.size(); ++i) {
    double sum = 0;
    for (const double value : of_ranks[i]) sum += value;
    std::cout << fmt::format("{:<48}{:>12.4g}{:>12.4g}{:>14.8g}\n", values_[i].first,
                             std::ranges::min(of_ranks[i]), std::ranges::max(of_ranks[i]), sum);
  }
}

}  // namespace penstock::test
