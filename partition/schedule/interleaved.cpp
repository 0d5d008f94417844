#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {
namespace {

struct Loops {
  int stages = 1, micro_batches = 1;
  int chunks = 2;  // chunks per rank
};

/// Returns the sizes of the groups, larger ones first: as many groups as p fits into m.
std::vector<int> groups(const Loops& of) {
  std::vector<int> sizes;
  int left = of.micro_batches;
  for (int count = std::max(1, of.micro_batches / of.stages); count > 0; --count) {
    sizes.push_back((left + count - 1) / count);
    left -= sizes.back();
  }
  return sizes;
}

/// Returns the forwards or the backwards of a rank, in order: group by group, chunk by chunk.
std::vector<Action> passes(ActionKind kind, int rank, const Loops& of) {
  std::vector<Action> list;
  int first = 0;
  for (const int size : groups(of)) {
    for (int turn = 0; turn < of.chunks; ++turn) {
      const int chunk = kind == ActionKind::forward ? turn : of.chunks - 1 - turn;
      for (int batch = first; batch < first + size; ++batch) {
        list.push_back({kind, chunk * of.stages + rank, batch});
      }
    }
    first += size;
  }
  return list;
}

/// Returns a rank's list: first the forwards that it runs ahead, then a forward and a backward in
/// turn. Rank r is ahead by the way of a micro-batch to the last rank and back, 2 (stages - 1 - r),
/// and by all chunks but the last for the largest group (Narayanan et al. 2021).
std::vector<Action> list_of(int rank, const Loops& of) {
  const auto forwards = passes(ActionKind::forward, rank, of);
  const auto backwards = passes(ActionKind::backward, rank, of);
  const int largest = groups(of).front();
  const std::size_t ahead = std::min<std::size_t>(
      forwards.size(), 2 * (of.stages - 1 - rank) + (of.chunks - 1) * largest);
  std::vector<Action> list(forwards.begin(), forwards.begin() + ahead);
  // The list holds min(ahead + i, all) forwards and i backwards.
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    if (ahead + i < forwards.size()) list.push_back(forwards[ahead + i]);
    list.push_back(backwards[i]);
  }
  return list;
}

}  // namespace

Schedule interleaved(int stages, int micro_batches, int chunks) {
  const Loops loops{stages, micro_batches, chunks};
  Schedule schedule{.name = chunks == 2 ? "interleaved" : fmt::format("interleaved-{}", chunks),
                    .micro_batches = micro_batches};
  schedule.chunk_rank = chunks_in_loops(stages, chunks);
  for (int rank = 0; rank < stages; ++rank) schedule.ranks.push_back(list_of(rank, loops));
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
