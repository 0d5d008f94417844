#include "tests/support/partition/corrupted_lists.h"

#include <algorithm>
#include <cstddef>

namespace penstock::test {

partition::Schedule corrupt(partition::Schedule schedule, std::mt19937& random) {
  const auto sample = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  auto& list = schedule.ranks[sample(schedule.ranks.size())];
  const std::size_t at = sample(list.size()), other = sample(list.size());
  const auto begin = list.begin();
  switch (sample(8)) {
    case 0:
      std::swap(list[at], list[other]);
      break;
    case 1:
      std::swap(list[at], list[std::min(at + 1, list.size() - 1)]);
      break;
    case 2:
      list.erase(begin + at);
      break;
    case 3:
      list.insert(begin + other, partition::Action(list[at]));
      break;
    case 4:
      list[at].micro_batch = static_cast<int>(sample(schedule.micro_batches + 2)) - 1;
      break;
    case 5:
      list[at].chunk = static_cast<int>(sample(schedule.chunks() + 2)) - 1;
      break;
    case 6:
      list[at].kind = static_cast<partition::ActionKind>(sample(12));
      break;
    default:  // move it
      if (at < other) std::rotate(begin + at, begin + at + 1, begin + other + 1);
      if (other < at) std::rotate(begin + other, begin + at, begin + at + 1);
  }
  return schedule;
}

}  // namespace penstock::test
