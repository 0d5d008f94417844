#include "partition/planner/choose/chunk_loads.h"

#include <algorithm>
#include <memory>

#include "partition/planner/choose/choice_estimate.h"
#include "partition/planner/choose/proposals.h"

namespace penstock::partition {
namespace {

/// The data that the load functions share.
struct Costs {
  SequenceLoad sequence;
  std::vector<StageCost> stages;
  std::vector<int> ranks;  // rank of each chunk
  double overlap = 1;

  const StageCost& of(int chunk) const { return stages[ranks[chunk]]; }
};

ChunkWork work_of(const Costs& costs) {
  ChunkWork work;
  for (int layer = 0; layer <= costs.sequence.size(); ++layer)
    work.before.push_back(costs.sequence.work(0, layer));
  for (int chunk = 0; chunk < std::ssize(costs.ranks); ++chunk)
    work.speeds.push_back(costs.of(chunk).speed());
  return work;
}

/// Load of a chunk if its stage computes while its messages are under way.
double hidden_load(const Costs& costs, int first, int last, int chunk) {
  double max = 0;
  for (const Pace& pace : costs.of(chunk).paces) {
    const double share = 1.0 / costs.sequence.passes();  // one message of those at a boundary
    const double enters = share * pace.enter.seconds(costs.sequence.crossing(first));
    const double leaves = share * pace.leave.seconds(costs.sequence.crossing(last));
    const double sending = (1 - costs.overlap) * (enters + leaves);
    max =
        std::max({max, pace.per_work * costs.sequence.work(first, last) + sending, enters, leaves});
  }
  return max + costs.of(chunk).reduction.seconds(costs.sequence.parameters(first, last));
}

}  // namespace

std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const PlanChoice& choice) {
  const PlacementProblem closed = closed_form_problem(problem, workload, choice.batch);
  const auto costs =
      std::make_shared<Costs>(Costs{closed.sequence, stage_costs(closed, choice.devices),
                                    ranks_of_chunks(choice), problem.cluster.overlap});
  ChunkCutProblem cut{
      .layers = problem.sequence->size(),
      .chunks = static_cast<int>(costs->ranks.size()),
      .runs = static_cast<double>(micro_batches_of(closed, {choice.stages, choice.replicas})),
      .rank = costs->ranks,
      .work = work_of(*costs)};
  ChunkCutProblem other = cut;
  if (cut.chunks == choice.stages) {
    cut.load = [costs](int first, int last, int chunk) {
      return costs->of(chunk).load(costs->sequence, first, last);
    };
    other.load = [costs](int first, int last, int chunk) {
      return hidden_load(*costs, first, last, chunk);
    };
  } else {
    other.rank.clear();
  }
  return {cut, other};
}

}  // namespace penstock::partition
