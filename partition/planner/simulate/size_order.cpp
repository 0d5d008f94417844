#include "partition/planner/simulate/size_order.h"

#include <algorithm>

namespace penstock::partition {

// Replica 0 has the sizes 0, replicas, 2 · replicas, …, which are its own 0, 1, 2, …. Their order
// in the step is the order for every replica. With two replicas, 4 1 0 3 2 5 becomes 2 0 1.
std::vector<int> order_of_replica(const std::vector<int>& order, int replicas, int own) {
  std::vector<int> of_replica;
  for (const int size : order)
    if (size % replicas == 0 && size / replicas < own) of_replica.push_back(size / replicas);
  // If the last round is not full, a replica with several lanes may get more than its share.
  while (!order.empty() && static_cast<int>(of_replica.size()) < own)
    of_replica.push_back(static_cast<int>(of_replica.size()));
  return of_replica;
}

std::vector<ChunkTimes> in_order(const std::vector<ChunkTimes>& by_size,
                                 const std::vector<int>& sizes) {
  std::vector<ChunkTimes> places;
  for (const int size : sizes) places.push_back(by_size[static_cast<std::size_t>(size)]);
  if (!sizes.empty()) return places;
  ChunkTimes mean;
  const auto count = static_cast<double>(by_size.size());
  for (const ChunkTimes& one : by_size) {
    mean.forward += one.forward / count;
    mean.backward_input += one.backward_input / count;
    mean.backward_weight += one.backward_weight / count;
  }
  return std::vector<ChunkTimes>(by_size.size(), mean);
}

// This undoes order_of_replica(): each place of a replica becomes one place for every replica. With
// two replicas, 2 0 1 becomes 4 5 0 1 2 3.
std::vector<int> order_of_step(const std::vector<int>& of_replica, int replicas,
                               int micro_batches) {
  std::vector<int> order;
  for (const int size : of_replica)
    for (int one = size * replicas; one < std::min((size + 1) * replicas, micro_batches); ++one)
      order.push_back(one);
  return order;
}

}  // namespace penstock::partition
