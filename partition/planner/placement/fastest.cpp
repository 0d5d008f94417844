#include "partition/planner/placement/fastest.h"

#include <algorithm>
#include <functional>

namespace penstock::partition {

std::vector<bool> fastest(const Cluster& cluster) {
  std::vector<double> speeds;
  for (const Device& device : cluster.devices) speeds.push_back(device.speed);
  std::ranges::sort(speeds, std::greater<>());
  std::size_t step = 0;  // index in `speeds` of the first slower device; 0: all are equal
  double largest = 1;
  for (std::size_t i = 1; i < speeds.size(); ++i)
    if (speeds[i - 1] > largest * speeds[i]) {
      largest = speeds[i - 1] / speeds[i];
      step = i;
    }
  std::vector<bool> result(cluster.size(), true);
  if (step > 0)
    for (int device = 0; device < cluster.size(); ++device)
      result[device] = cluster.devices[device].speed > speeds[step];
  return result;
}

}  // namespace penstock::partition
