#include "partition/planner/simulate/size_order.h"

#include <algorithm>

namespace penstock::partition {

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

std::vector<int> order_of_step(const std::vector<int>& of_replica, int replicas,
                               int micro_batches) {
  std::vector<int> order;
  for (const int size : of_replica)
    for (int one = size * replicas; one < std::min((size + 1) * replicas, micro_batches); ++one)
      order.push_back(one);
  return order;
}

}  // namespace penstock::partition
