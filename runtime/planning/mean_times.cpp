#include "runtime/planning/mean_times.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "partition/layout/recomputed_layers.h"
#include "partition/planner/cost/cost_model.h"
#include "partition/planner/simulate/step_estimate.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

/// Returns a cost model for micro-batches of any lengths: computed costs, scaled per layer and pass
/// so that a middling micro-batch costs what `costs` says.
partition::CostModel scaled_costs(const partition::LayerSequence& sequence,
                                  const configs::Config& config, const RunShape& shape,
                                  const std::vector<partition::LayerCost>& costs) {
  const layers::BackendSizes sizes = backend_sizes(config);
  const partition::CostModel computed =
      partition::analytic_cost_model(sequence, sizes, partition::default_rates(sizes));
  return [=, middling = computed_costs(sequence, config, shape)](
             const partition::MicroBatchLengths& lengths) {
    std::vector<partition::LayerCost> scaled = computed(lengths);
    for (std::size_t i = 0; i < scaled.size(); ++i)
      for (auto method : {&partition::LayerCost::forward, &partition::LayerCost::backward_input,
                          &partition::LayerCost::backward_weight}) {
        const double usual = middling[i].*method;
        if (usual > 0) scaled[i].*method *= costs[i].*method / usual;
      }
    return scaled;
  };
}

void add(const partition::ChunkTimes& one, partition::ChunkTimes& sum) {
  sum.forward += one.forward;
  sum.backward_input += one.backward_input;
  sum.backward_weight += one.backward_weight;
}

/// Calls visit(frames of the utterances) for each sampled micro-batch that has this size within a
/// replica.
template <class Visit>
void visit_size(const RunShape& shape, int replicas, int size, Visit visit) {
  const auto known = static_cast<int>(shape.by_size.size());
  const int first = std::min(size * replicas, known - 1);
  const int end = std::max(first + 1, std::min((size + 1) * replicas, known));
  for (int of_step = first; of_step < end; ++of_step)
    for (const auto& frames : shape.by_size[static_cast<std::size_t>(of_step)]) visit(frames);
}

}  // namespace

std::vector<std::vector<partition::ChunkTimes>> mean_times_by_size(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::vector<partition::LayerCost>& costs, const std::vector<int>& begin, int own) {
  const partition::CostModel model = scaled_costs(sequence, config, shape, costs);
  const partition::ChosenLayers recomputed =
      partition::recomputed_layers(config.pipeline, sequence);
  std::vector<std::vector<partition::ChunkTimes>> times(begin.size() - 1);
  for (int size = 0; size < own; ++size) {
    std::vector<partition::ChunkTimes> sums(times.size());
    double count = 0;
    visit_size(shape, config.pipeline.replicas, size, [&](const auto& frames) {
      const auto one =
          partition::chunk_times(begin, model(usual_lengths(shape, frames)), recomputed);
      for (std::size_t chunk = 0; chunk < sums.size(); ++chunk) add(one[chunk], sums[chunk]);
      ++count;
    });
    for (std::size_t chunk = 0; chunk < sums.size(); ++chunk)
      times[chunk].push_back({sums[chunk].forward / count, sums[chunk].backward_input / count,
                              sums[chunk].backward_weight / count});
  }
  return times;
}

std::vector<double> mean_frames_by_size(const RunShape& shape, int replicas, int own) {
  std::vector<double> means;
  for (int size = 0; size < own; ++size) {
    double sum = 0, count = 0;
    visit_size(shape, replicas, size, [&](const auto& frames) {
      sum += static_cast<double>(std::accumulate(frames.begin(), frames.end(), std::int64_t{0}));
      ++count;
    });
    means.push_back(sum / count);
  }
  return means;
}

}  // namespace penstock::runtime
