#include "tests/support/partition/random_steps.h"

#include <algorithm>
#include <vector>

namespace penstock::test {
namespace {

using partition::ScheduleProblem;

class Lots {
 public:
  explicit Lots(std::mt19937& random) : random_(random) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return whole(1, n) == 1; }

 private:
  std::mt19937& random_;
};

std::vector<int> random_layout(Lots& lots) {
  const int ranks = lots.whole(1, 3), layout = lots.whole(0, 3);
  std::vector<int> chunk_rank;
  const int chunks = layout == 0 ? ranks : 2 * ranks;
  for (int chunk = 0; chunk < chunks; ++chunk)
    chunk_rank.push_back(layout == 3 ? chunk % ranks : std::min(chunk, 2 * ranks - 1 - chunk));
  return chunk_rank;
}

/// Between what a micro-batch alone holds on a rank and what all of them do.
double random_memory(const ScheduleProblem& problem, Lots& lots) {
  double min = 0, max = 0;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    double all = 0;
    for (int batch = 0; batch < problem.micro_batches(); ++batch) {
      double alone = 0;
      for (int chunk = 0; chunk < problem.chunks(); ++chunk)
        if (problem.chunk_rank[static_cast<std::size_t>(chunk)] == rank)
          alone += problem.held_by(chunk, batch);
      min = std::max(min, alone);
      all += alone;
    }
    max = std::max(max, all);
  }
  return min + (max - min) * lots.whole(0, 9) / 10;
}

}  // namespace

ScheduleProblem random_step(std::mt19937& random) {
  Lots lots(random);
  ScheduleProblem problem{.chunk_rank = random_layout(lots)};
  const int chunks = problem.chunks();
  const int max = chunks <= 3 ? 4 : chunks == 4 ? 3 : 2;
  const int batches = lots.whole(1, lots.one_in(5) ? max + 1 : max);
  const bool alike = lots.one_in(4), messages = !lots.one_in(3);
  std::vector<double> speed;
  for (int rank = 0; rank < problem.ranks(); ++rank) speed.push_back(lots.one_in(3) ? 2 : 1);
  std::vector<double> size;
  for (int batch = 0; batch < batches; ++batch) size.push_back(alike ? 1 : lots.whole(2, 9));
  for (const int rank : problem.chunk_rank) {
    const double f = alike ? 1 : lots.whole(1, 6), b = alike ? 1 : lots.whole(1, 6),
                 w = alike ? 1 : lots.whole(0, 6), holds = lots.whole(1, 5);
    const bool recomputed = lots.one_in(4);
    auto& times = problem.times.emplace_back();
    auto& held = problem.held.emplace_back();
    for (const double each : size) {
      const double unit = each / speed[static_cast<std::size_t>(rank)];
      times.push_back({f * unit, (recomputed ? f + b : b) * unit, w * unit});
      held.push_back(each * (recomputed ? 0.3 : holds));
    }
    problem.transfers.push_back(messages ? lots.whole(0, 8) * (alike ? 0.25 : 1) : 0);
  }
  if (!lots.one_in(3)) problem.memory = random_memory(problem, lots);
  return problem;
}

}  // namespace penstock::test
