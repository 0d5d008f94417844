#include "runtime/pipeline/measure_layers.h"

#include <algorithm>
#include <limits>

#include "comm/threads.h"
#include "runtime/pipeline/stage.h"

// A layer is timed within a whole step, on the data that the layers before it have made, and not
// alone on made-up numbers. The first pass is not counted: it allocates, and loads kernels. Chunk
// synchronises before and after each method, so the sum over layers is longer than a real step.

namespace penstock::runtime {
std::vector<partition::LayerCost> measure_layers(layers::Backend& backend,
                                                 const partition::LayerSequence& sequence,
                                                 const StepWork& work, const ReadFeatures& features,
                                                 const MeasureOptions& options) {
  const auto alone = comm::make_thread_communicators({.ranks = 1});
  const auto stream = backend.make_stream();
  StageOptions whole;
  whole.cut = {0, sequence.size()};
  whole.store.slots = {.of_elements = 0};
  whole.sizes = options.sizes;
  Stage stage(backend, *stream, *alone.front(), sequence, whole);

  StepWork one = work;
  one.micro_batches.resize(1);
  ExecutorCallbacks callbacks;
  callbacks.read_features = features;
  const auto train = [&] {
    StepSums sums = stage.train(one, callbacks);
    stage.complete(sums);
  };
  train();

  std::vector<LayerTimes> passes(options.repeats);
  for (LayerTimes& pass : passes) {
    stage.measure(&pass);
    train();
  }
  std::vector<partition::LayerCost> costs;
  for (std::size_t i = 0; i < sequence.layers.size(); ++i) {
    const auto fastest = [&](std::vector<double> LayerTimes::*method) {
      double seconds = std::numeric_limits<double>::infinity();
      for (const LayerTimes& pass : passes) seconds = std::min(seconds, (pass.*method)[i]);
      return seconds;
    };
    costs.push_back({sequence.layers[i]->name(), fastest(&LayerTimes::forward),
                     fastest(&LayerTimes::backward_input), fastest(&LayerTimes::backward_weight)});
  }
  return costs;
}

}  // namespace penstock::runtime
