#include "runtime/planning/found_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/gib.h"
#include "comm/collectives.h"
#include "partition/plan/plan_schedule.h"
#include "partition/plan/planner.h"
#include "partition/schedule/make_schedule.h"
#include "partition/search/find_schedule.h"
#include "partition/simulate/size_order.h"
#include "runtime/planning/mean_times.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

/// A named schedule whose memory a cut is made for, before there are lists: it parts the backward
/// too.
constexpr const char* kStandIn = "zb-h1";

/// How many micro-batches the stage may hold between forward and weight gradient.
int room_of(const partition::ChunkBytes& bytes, const partition::Plan& plan, int stage, int own,
            double memory_gib) {
  if (memory_gib == 0) return std::min(own, plan.stages());
  const partition::ChunkPlan& chunk = plan.chunks[static_cast<std::size_t>(stage)];
  int room = std::min(own, 2 * plan.stages());
  for (; room > 1; --room) {
    const partition::ChunkBytes held = bytes.holding(partition::in_flight_of(room));
    const auto needed = static_cast<double>(held(chunk.first, chunk.last(), stage).total());
    if (needed <= memory_gib * kGib) break;
  }
  return room;
}

/// A run whose layers have been cut, for which lists are sought.
struct CutRun {
  partition::PlanRequest request;
  partition::ChunkBytes bytes;  // under any schedule that parts the backward
  partition::Plan plan;
};

CutRun cut_run(const partition::LayerSequence& sequence, const configs::Config& config,
               const RunShape& shape, const std::vector<partition::LayerCost>& costs) {
  const partition::RunSchedule stand_in(kStandIn, config.pipeline.stages);
  const partition::ChunkBytes bytes = bytes_of_run(sequence, config, shape, stand_in);
  partition::PlanRequest request = plan_request(sequence, config, shape, costs);
  request.bytes = bytes;
  try {
    return {request, bytes, partition::make_plan(sequence, request)};
  } catch (const ConfigError&) {  // lists may hold as little as one micro-batch
    request.bytes = bytes.holding(partition::in_flight_of(1));
    return {request, bytes, partition::make_plan(sequence, request)};
  }
}

partition::FoundSchedule search(const partition::LayerSequence& sequence,
                                const configs::Config& config, const RunShape& shape,
                                const std::vector<partition::LayerCost>& costs, const CutRun& run,
                                const std::vector<int>* sizes) {
  const partition::Plan& plan = run.plan;
  const int own = partition::micro_batches_per_replica(plan);
  const std::vector<int> begin = plan.cut();
  partition::ScheduleProblem problem{
      .chunk_rank = partition::chunk_ranks(partition::kFound, plan.stages()),
      .times = mean_times_by_size(sequence, config, shape, costs, begin, own),
      .memory = 1};
  if (sizes != nullptr)
    for (auto& chunk : problem.times) chunk = partition::in_order(chunk, *sizes);
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const int room = room_of(run.bytes, plan, stage, own, config.pipeline.memory_gib);
    problem.held.emplace_back(static_cast<std::size_t>(own), 1.0 / room);
    if (stage + 1 < plan.stages())  // there and back
      problem.transfers.push_back(run.request.transfers[begin[stage + 1] - 1] / 2);
  }
  problem.transfers.push_back(0);
  return partition::find_schedule(problem, {.keep_order = sizes != nullptr});
}

}  // namespace

bool wants_order(const configs::Config& config) {
  return config.pipeline.schedule == partition::kFound && config.pipeline.plan.empty() &&
         config.trainer.order.empty();
}

std::vector<int> find_order(const partition::LayerSequence& sequence, const configs::Config& config,
                            const RunShape& shape) {
  if (config.pipeline.stages == 1) return {};
  const auto costs = computed_costs(sequence, config, shape);
  const CutRun run = cut_run(sequence, config, shape, costs);
  const partition::FoundSchedule found = search(sequence, config, shape, costs, run, nullptr);
  return partition::order_of_step(found.order, config.pipeline.replicas, config.data.micro_batches);
}

std::vector<int> shared_order(comm::Communicator& world, const partition::LayerSequence& sequence,
                              const configs::Config& config, const RunShape& shape) {
  if (!wants_order(config)) return config.trainer.order;
  std::string told;
  if (world.rank() == 0)
    told = fmt::format("{}", fmt::join(find_order(sequence, config, shape), " "));
  std::istringstream text(comm::broadcast(world, told));
  std::vector<int> order;
  for (int size = 0; text >> size;) order.push_back(size);
  return order;
}

partition::Plan plan_found(const partition::LayerSequence& sequence, const configs::Config& config,
                           const RunShape& shape, const std::vector<partition::LayerCost>& costs) {
  CutRun run = cut_run(sequence, config, shape, costs);
  partition::Plan plan = run.plan;
  plan.order = config.trainer.order;
  const auto sizes = partition::order_of_replica(plan.order, plan.replicas(),
                                                 partition::micro_batches_per_replica(plan));
  plan.actions = partition::rows_of(search(sequence, config, shape, costs, run, &sizes).schedule);
  run.request.bytes = bytes_of_run(sequence, config, shape, partition::schedule_of(plan));
  return partition::with_estimates(sequence, run.request, std::move(plan));
}

}  // namespace penstock::runtime
