#include "runtime/planning/cut_runs.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/search/pattern.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/planning/mean_times.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

std::vector<partition::ChunkRange> held_by(const partition::Plan& plan, int stage) {
  std::vector<partition::ChunkRange> held;
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const partition::ChunkPlan& chunk = plan.chunks[i];
    if (chunk.stage == stage) held.push_back({chunk.first, chunk.last(), static_cast<int>(i)});
  }
  return held;
}

/// Returns values by place in a replica's order; every place gets the mean if the order is unknown.
std::vector<double> in_places(const std::vector<double>& by_size, const std::vector<int>& sizes) {
  const double mean =
      std::accumulate(by_size.begin(), by_size.end(), 0.0) / static_cast<double>(by_size.size());
  std::vector<double> placed(by_size.size(), mean);
  for (std::size_t place = 0; place < sizes.size(); ++place)
    placed[place] = by_size[static_cast<std::size_t>(sizes[place])];
  return placed;
}

}  // namespace

CutRuns::CutRuns(const partition::LayerSequence& sequence, const configs::Config& config,
                 const RunShape& shape, const std::vector<partition::LayerCost>& costs,
                 bool in_order)
    : sequence_(sequence),
      config_(config),
      shape_(shape),
      costs_(costs),
      in_order_(in_order),
      bytes_(sequence, config),
      request_(plan_request(sequence, config, shape, costs)) {
  own_ = partition::micro_batches_per_replica(request_.micro_batches, request_.lanes,
                                              config.pipeline.replicas);
}

partition::PlanRequest CutRuns::request_for(const std::string& schedule) const {
  partition::PlanRequest request = request_;
  request.chunk_stages = partition::chunk_ranks(schedule, config_.pipeline.stages);
  return request;
}

partition::RunSchedule CutRuns::in_parts(const std::string& schedule) const {
  partition::RunSchedule named(schedule, config_.pipeline.stages);
  if (named.splits_backward()) return named;
  return {partition::with_backward_in_parts(named.of(own_)), {}};
}

CutRun CutRuns::cut_run(const partition::PlanRequest& request, const partition::ChunkBytes& bytes) {
  CutRun run;
  run.plan = partition::make_plan(sequence_, request);
  run.problem = problem_of(run.plan);
  run.copies = copies_of(run.plan, bytes);
  return run;
}

CutRun CutRuns::like(const std::string& schedule) {
  const partition::ChunkBytes bytes = bytes_.of(config_, shape_, in_parts(schedule));
  partition::PlanRequest request = request_for(schedule);
  request.bytes = bytes;
  CutRun run;
  try {
    run = cut_run(request, bytes);
  } catch (const ConfigError&) {  // a list may hold as little as one micro-batch
    request.bytes = bytes.holding(partition::in_flight_of(1));
    run = cut_run(request, bytes);
  }
  limit(bytes, run);
  return run;
}

CutRun CutRuns::exactly(const std::string& schedule) {
  const partition::ChunkBytes bytes =
      bytes_.of(config_, shape_, partition::RunSchedule(schedule, config_.pipeline.stages));
  partition::PlanRequest request = request_for(schedule);
  request.bytes = bytes;
  return cut_run(request, bytes);
}

double CutRuns::step_seconds(const CutRun& run, const partition::Schedule& lists,
                             const std::vector<int>& order) const {
  partition::Durations durations = run.problem.durations(order);
  if (run.copies.empty()) return partition::simulate(lists, durations).makespan;
  durations.compute = [&run, &order, passes = durations.compute](const partition::Action& action) {
    const bool copies = action.kind == partition::ActionKind::offload ||
                        action.kind == partition::ActionKind::reload;
    if (!copies) return passes(action);
    return run.copies[static_cast<std::size_t>(action.chunk)][static_cast<std::size_t>(
        order[static_cast<std::size_t>(action.micro_batch)])];
  };
  return partition::simulate(partition::with_offload(lists, config_.pipeline.resident), durations)
      .makespan;
}

partition::Plan CutRuns::with_lists(const CutRun& run, const partition::Schedule& lists) {
  partition::Plan plan = run.plan;
  plan.order = config_.trainer.order;
  plan.actions = partition::rows_of(lists);
  partition::PlanRequest request = request_;
  request.bytes = bytes_.of(config_, shape_, partition::schedule_of(plan));
  return partition::with_estimates(sequence_, request, std::move(plan));
}

partition::ScheduleProblem CutRuns::problem_of(const partition::Plan& plan) {
  const std::vector<int> begin = plan.cut();
  partition::ScheduleProblem problem;
  for (const partition::ChunkPlan& chunk : plan.chunks) problem.chunk_rank.push_back(chunk.stage);
  auto& times = times_[begin];
  if (times.empty()) {
    times = mean_times_by_size(sequence_, config_, shape_, costs_, begin, own_);
    const auto sizes =
        partition::order_of_replica(config_.trainer.order, config_.pipeline.replicas, own_);
    if (in_order_)
      for (auto& chunk : times) chunk = partition::in_order(chunk, sizes);
  }
  problem.times = times;
  for (std::size_t chunk = 1; chunk < plan.chunks.size(); ++chunk)  // half of a round trip
    problem.transfers.push_back(request_.transfers[static_cast<std::size_t>(begin[chunk] - 1)] / 2);
  problem.transfers.push_back(0);
  return problem;
}

/// Returns the seconds of copying a chunk's saved activations to the host, or back. Time is
/// proportional to frames, relative to the largest micro-batch, at the default host bandwidth.
std::vector<std::vector<double>> CutRuns::copies_of(const partition::Plan& plan,
                                                    const partition::ChunkBytes& bytes) const {
  if (config_.pipeline.resident == 0) return {};
  const int replicas = config_.pipeline.replicas;
  std::vector<double> frames = mean_frames_by_size(shape_, replicas, own_);
  if (in_order_)
    frames = in_places(frames, partition::order_of_replica(config_.trainer.order, replicas, own_));
  const auto max = static_cast<double>(shape_.training.micro_batch.frames);
  std::vector<std::vector<double>> copies;
  for (const partition::ChunkPlan& chunk : plan.chunks) {
    const auto at = static_cast<int>(copies.size());
    const double whole = bytes.kept(chunk.first, chunk.last(), at) / partition::kHostBandwidth;
    std::vector<double>& of_chunk = copies.emplace_back();
    for (const double each : frames) of_chunk.push_back(whole * std::min(1.0, each / max));
  }
  return copies;
}

/// Returns how many micro-batches the stage may hold on each of its chunks, from forward to
/// backward_weight.
int CutRuns::capacity_of(const partition::ChunkBytes& bytes, const partition::Plan& plan,
                         int stage) const {
  if (config_.pipeline.memory_gib == 0) return std::min(own_, plan.stages());
  const auto held = held_by(plan, stage);
  int room = std::min(own_, 2 * plan.stages());
  for (; room > 1; --room) {
    const partition::StageBytes needed = bytes.holding(partition::in_flight_of(room))(held);
    if (static_cast<double>(needed.total()) <= config_.pipeline.memory_gib * kGib) break;
  }
  return room;
}

/// Sets the problem's memory to 1 per rank and the share that a micro-batch holds on each chunk. A
/// chunk's share of its stage is proportional to its bytes. Without a limit on memory, all chunks
/// count alike, as in the literature.
void CutRuns::limit(const partition::ChunkBytes& bytes, CutRun& run) const {
  const partition::ChunkBytes one = bytes.holding(partition::in_flight_of(1));
  const partition::ChunkBytes two = bytes.holding(partition::in_flight_of(2));
  const bool limited = config_.pipeline.memory_gib > 0;
  std::vector<double> each, of_stage(static_cast<std::size_t>(run.plan.stages()), 0);
  for (std::size_t i = 0; i < run.plan.chunks.size(); ++i) {
    const partition::ChunkPlan& chunk = run.plan.chunks[i];
    const int at = static_cast<int>(i);
    each.push_back(limited ? static_cast<double>(two(chunk.first, chunk.last(), at).total()) -
                                 static_cast<double>(one(chunk.first, chunk.last(), at).total())
                           : 1);
    of_stage[static_cast<std::size_t>(chunk.stage)] += each.back();
  }
  for (std::size_t i = 0; i < run.plan.chunks.size(); ++i) {
    const int stage = run.plan.chunks[i].stage;
    const double whole = of_stage[static_cast<std::size_t>(stage)];
    const double share = whole > 0 ? each[i] / whole : 1;
    run.problem.held.emplace_back(static_cast<std::size_t>(own_),
                                  share / capacity_of(bytes, run.plan, stage));
  }
  run.problem.memory = 1;
}

}  // namespace penstock::runtime
