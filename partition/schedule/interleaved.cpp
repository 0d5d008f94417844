#include "partition/schedule/interleaved.h"

#include <algorithm>
#include <utility>

#include "partition/schedule/complete.h"

namespace penstock::partition {
namespace {

constexpr int kChunks = 2;  // of a rank

/// What a rank passes forward or backward, in order: group by group, chunk by chunk.
std::vector<Action> passes(ActionKind kind, int rank, int stages, int micro_batches) {
  std::vector<Action> list;
  for (int first = 0; first < micro_batches; first += stages) {
    for (int turn = 0; turn < kChunks; ++turn) {
      const int chunk = kind == ActionKind::forward ? turn : kChunks - 1 - turn;
      for (int batch = first; batch < first + stages; ++batch) {
        list.push_back({kind, chunk * stages + rank, batch});
      }
    }
  }
  return list;
}

/// Of whole groups; of the last one, micro-batches that there are not are left out again.
std::vector<Action> list_of(int rank, int stages, int micro_batches) {
  const auto forwards = passes(ActionKind::forward, rank, stages, micro_batches);
  const auto backwards = passes(ActionKind::backward, rank, stages, micro_batches);
  const std::size_t ahead =
      std::min<std::size_t>(forwards.size(), 2 * (stages - 1 - rank) + (kChunks - 1) * stages);
  std::vector<Action> list(forwards.begin(), forwards.begin() + ahead);
  // min(ahead + i, all) forwards and i backwards are in the list.
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    if (ahead + i < forwards.size()) list.push_back(forwards[ahead + i]);
    list.push_back(backwards[i]);
  }
  std::erase_if(list, [&](const Action& action) { return action.micro_batch >= micro_batches; });
  return list;
}

}  // namespace

Schedule interleaved(int stages, int micro_batches) {
  Schedule schedule{.name = "interleaved", .micro_batches = micro_batches};
  for (int chunk = 0; chunk < kChunks * stages; ++chunk) {
    schedule.chunk_rank.push_back(chunk % stages);
  }
  for (int rank = 0; rank < stages; ++rank) {
    schedule.ranks.push_back(list_of(rank, stages, micro_batches));
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
