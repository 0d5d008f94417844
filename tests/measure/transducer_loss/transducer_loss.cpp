#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "layers/losses/transducer.h"
#include "tests/support/layers/layer_runner.h"

// transducer_loss OUTPUTS [DURATIONS]: seconds and bytes of one training pass of a transducer's
// joint network and loss, for one utterance of 250 frames and 80 labels. See README.md.

namespace penstock::test {
namespace {

constexpr std::int64_t kFrames = 250, kLabels = 80, kJoint = 640;

/// Returns the bytes that forward leaves for backward, apart from the layer's input.
std::size_t kept_bytes(const layers::LayerPlan& plan) {
  std::size_t kept = 0;
  for (const layers::SavedDecl& saved : plan.saved)
    if (saved.kind == layers::SavedDecl::Kind::own)
      kept += static_cast<std::size_t>(layers::element_count(saved.shape)) *
              layers::size_of(saved.dtype);
  return kept;
}

/// Prints the median time of five training passes of the layer, and the bytes of its plan.
void measure(const char* name, const layers::TransducerOptions& options) {
  const layers::Transducer layer(options);
  const layers::ActivationDecl input{layers::DType::f32, {{{kFrames}, kJoint}}, {kLabels}};
  LayerRunner runner(layer, input);
  runner.randomise(7);
  std::mt19937 random(7);
  std::vector<std::int32_t> labels(kLabels), counts{kLabels};
  std::ranges::generate(labels,
                        [&] { return 1 + static_cast<int>(random() % (options.classes - 1)); });
  const std::vector<float> weights{1};
  std::vector<double> losses(1);
  layers::Targets targets{labels, counts, weights, 1, losses};
  runner.targets = &targets;

  std::vector<double> seconds;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    runner.forward();
    runner.backward_input();
    runner.backward_weight();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(seconds);
  const layers::Workspace& work = runner.plan().workspace;
  fmt::print(
      "{:<26} {:6.2f} s {:6.1f} MB kept {:6.1f} MB of workspace, loss {:.4f}\n", name,
      seconds[seconds.size() / 2], static_cast<double>(kept_bytes(runner.plan())) / 1e6,
      static_cast<double>(std::max({work.forward, work.backward_input, work.backward_weight})) /
          1e6,
      losses[0]);
}

void measure_all(std::int64_t classes, int durations) {
  layers::TransducerOptions options{
      .classes = classes,
      .joint = kJoint,
      .prediction = {.embedding = kJoint, .layers = 1, .hidden = kJoint}};
  for (int d = 0; d < durations; ++d) options.durations.push_back(d);
  fmt::print("{} outputs\n", classes + durations);
  measure("with an LSTM of 640", options);
  // An embedding of one channel and a product of it cost next to nothing.
  options.prediction = {.kind = layers::PredictionKind::stateless, .embedding = 1, .context = 1};
  measure("joint network and loss", options);
}

}  // namespace
}  // namespace penstock::test

int main(int count, char** words) {
  penstock::test::measure_all(count > 1 ? std::atoll(words[1]) : 1025,
                              count > 2 ? std::atoi(words[2]) : 0);
}
