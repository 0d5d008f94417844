#include "runtime/pipeline/measure_layers.h"

#include <algorithm>

#include "comm/threads.h"
#include "runtime/pipeline/stage.h"

namespace penstock {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<LayerCost> measure_layers(Backend& backend, const Chain& chain, const StepWork& work,
                                      const ReadFeatures& features, const MeasureOptions& options) {
  const auto alone = make_thread_communicators({.ranks = 1});
  const auto stream = backend.make_stream();
  StageOptions whole;
  whole.last_layer = chain.layers.size();
  whole.store.optimizer_slots = 0;
  whole.sizes = options.sizes;
  Stage stage(backend, *stream, *alone.front(), chain, whole);

  StepWork one = work;
  one.micro_batches.resize(1);
  ExecutorCallbacks callbacks;
  callbacks.read_features = features;
  stage.train(one, callbacks);

  std::vector<LayerTimes> passes(options.repeats);
  for (LayerTimes& pass : passes) {
    stage.measure(&pass);
    stage.train(one, callbacks);
  }
  std::vector<LayerCost> costs;
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    const auto over_passes = [&](std::vector<double> LayerTimes::*method) {
      std::vector<double> seconds;
      for (const LayerTimes& pass : passes) seconds.push_back((pass.*method)[i]);
      return median(seconds);
    };
    costs.push_back({chain.layers[i]->name(), over_passes(&LayerTimes::forward),
                     over_passes(&LayerTimes::backward_input),
                     over_passes(&LayerTimes::backward_weight)});
  }
  return costs;
}

}  // namespace penstock
