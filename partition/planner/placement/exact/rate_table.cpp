#include "partition/planner/placement/exact/rate_table.h"

namespace penstock::partition {
namespace {

/// Returns the index of a value in a list of distinct values, and appends it if it is new.
template <class Value>
int place(const std::vector<double>& key, const Value& value,
          std::map<std::vector<double>, int>& places, std::vector<Value>& values) {
  const auto [known, fresh] = places.try_emplace(key, static_cast<int>(values.size()));
  if (fresh) values.push_back(value);
  return known->second;
}

}  // namespace

int RateTable::reduction(const std::vector<int>& devices) {
  LinkCost cost;
  if (devices.size() > 1)
    cost = ring(slowest_of_ring(problem_.cluster, devices), static_cast<int>(devices.size()),
                micro_batches_);
  return place({cost.latency, cost.per_unit}, cost, reduction_places_, reductions_);
}

int RateTable::rate(int reduction, int before, int device, int after) {
  const Cluster& cluster = problem_.cluster;
  // The key has four digits to the base `devices`: reduction, device, before and after. Since −1 is
  // none, the last two are shifted by one.
  const std::uint64_t devices = cluster.size() + 1;
  const std::uint64_t key =
      ((reduction * devices + device) * devices + before + 1) * devices + after + 1;
  const auto [known, fresh] = by_devices_.try_emplace(key, 0);
  if (!fresh) return known->second;
  Rate rate{.pace = {.per_work = 1 / cluster.devices[device].speed},
            .reduction = reductions_[reduction]};
  Pace& pace = rate.pace;
  if (before >= 0) pace.enter = crossing(problem_, before, device);
  if (after >= 0) pace.leave = crossing(problem_, device, after);
  // Many pairs of devices have equal links, so few rates are distinct.
  return known->second =
             place({pace.per_work, pace.enter.latency, pace.enter.per_unit, pace.leave.latency,
                    pace.leave.per_unit, static_cast<double>(reduction)},
                   rate, rate_places_, rates_);
}

}  // namespace penstock::partition
