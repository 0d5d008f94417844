#include "partition/planner/search/pattern.h"

#include <map>
#include <numeric>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

std::vector<int> as_given(int micro_batches) {
  std::vector<int> order(micro_batches);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Pattern pattern_of(const Schedule& schedule) {
  Pattern pattern{.ranks = {}, .order = as_given(schedule.micro_batches)};
  for (const auto& list : schedule.ranks) {
    auto& turns = pattern.ranks.emplace_back();
    for (const Action& action : list) {
      if (action.kind == ActionKind::backward) {
        turns.push_back({ActionKind::backward_input, action.chunk});
        turns.push_back({ActionKind::backward_weight, action.chunk});
      } else if (computes(action.kind)) {
        turns.push_back({action.kind, action.chunk});
      }
    }
  }
  return pattern;
}

Pattern one_by_one(const ScheduleProblem& problem) {
  Pattern pattern{.ranks = {}, .order = as_given(problem.micro_batches())};
  pattern.ranks.resize(problem.ranks());
  const auto add = [&](ActionKind kind, int chunk) {
    pattern.ranks[problem.chunk_rank[chunk]].push_back({kind, chunk});
  };
  for (int batch = 0; batch < problem.micro_batches(); ++batch) {
    for (int chunk = 0; chunk < problem.chunks(); ++chunk) add(ActionKind::forward, chunk);
    for (int chunk = problem.chunks(); chunk-- > 0;) {
      add(ActionKind::backward_input, chunk);
      add(ActionKind::backward_weight, chunk);
    }
  }
  return pattern;
}

// The n-th turn of a kind on a chunk is that of place n, so micro-batches need no numbers while the
// search moves turns about. complete() adds transfers, reductions and steps.
Schedule unfold(const Pattern& pattern, const std::vector<int>& chunk_rank, std::string name) {
  Schedule schedule{.name = std::move(name),
                    .micro_batches = static_cast<int>(pattern.order.size()),
                    .chunk_rank = chunk_rank};
  for (const auto& turns : pattern.ranks) {
    auto& list = schedule.ranks.emplace_back();
    std::map<std::pair<ActionKind, int>, int> places;
    for (const Turn& turn : turns) {
      list.push_back({turn.kind, turn.chunk, places[{turn.kind, turn.chunk}]++});
    }
  }
  return complete(std::move(schedule));
}

Schedule with_backward_in_parts(const Schedule& schedule) {
  return unfold(pattern_of(schedule), schedule.chunk_rank, std::string(kFound));
}

}  // namespace penstock::partition
