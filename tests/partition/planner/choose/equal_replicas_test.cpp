// The planner gives every stage the same number of replicas. These tests bound what unlike numbers
// would gain.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/layout/layer_figures.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kParameterBytes = 18;  // halves and their gradients, masters, AdamW's moments
constexpr double kGiB = 1 << 30;

/// Sums over the layers in front of each one.
struct Totals {
  std::vector<double> work{0}, parameters{0}, kept{0};

  explicit Totals(const std::string& model) {
    const std::vector<std::string> base{"model.base=" + model, "precision.compute=bf16"};
    const configs::Config config = configs::load_config("", layers::model_families(), base);
    const LayerSequence sequence = build_model(config.model, labels_without_text(config.model));
    const auto frames =
        static_cast<std::int64_t>(16 * config.features.frames_per_second());  // 16 s
    const std::vector<std::int64_t> lengths(2, frames);
    for (const LayerFigures& layer :
         layer_figures(sequence, lengths, {layers::DeviceKind::cpu, layers::DType::bf16})) {
      const layers::Flops& flops = layer.flops;
      work.push_back(work.back() + flops.forward + flops.backward_input + flops.backward_weight);
      parameters.push_back(parameters.back() +
                           kParameterBytes * static_cast<double>(layer.parameters));
      kept.push_back(kept.back() + static_cast<double>(layer.kept));
    }
  }
  int layers() const { return static_cast<int>(work.size()) - 1; }
};

struct Stages {
  int number = 1, devices = 1;
  double bytes = 0;  // of each device
  int replicas = 0;  // of every stage; 0: of each as many as are best
};

/// The work of a micro-batch on the slowest stage, divided by its replicas, at least. Stage s of p
/// holds p - s micro-batches, as 1F1B does.
double min_bottleneck(const Totals& sums, const Stages& stages) {
  const int layers = sums.layers();
  using Row = std::vector<double>;
  // After k stages, before[b][d] is the least bottleneck of layers [0, b) on d devices.
  std::vector<Row> before(layers + 1, Row(stages.devices + 1, kInfeasible));
  before[0][0] = 0;
  for (int stage = 0; stage < stages.number; ++stage) {
    std::vector<Row> with(layers + 1, Row(stages.devices + 1, kInfeasible));
    for (int last = 1; last <= layers; ++last)
      for (int first = last - 1; first >= 0; --first) {
        const double bytes = sums.parameters[last] - sums.parameters[first] +
                             (stages.number - stage) * (sums.kept[last] - sums.kept[first]);
        if (bytes > stages.bytes) break;
        for (int used = 0; used < stages.devices; ++used)
          for (int own = 1; used + own <= stages.devices; ++own) {
            if (stages.replicas > 0 && own != stages.replicas) continue;
            const double load = (sums.work[last] - sums.work[first]) / own;
            double& min = with[last][used + own];
            min = std::min(min, std::max(before[first][used], load));
          }
      }
    before = std::move(with);
  }
  return *std::ranges::min_element(before[layers]);
}

/// How many times slower the best of equal numbers is than the best of any; 1 where nothing fits.
double loss_of_equal_numbers(const Totals& sums, int devices, double bytes) {
  double equal = kInfeasible, any = kInfeasible;
  for (int number = 1; number <= devices; ++number) {
    const Stages stages{.number = number, .devices = devices, .bytes = bytes};
    any = std::min(any, min_bottleneck(sums, stages));
    Stages alike = stages;
    alike.replicas = devices / number;
    equal = std::min(equal, min_bottleneck(sums, alike));
  }
  return any < kInfeasible ? equal / any : 1;
}

struct Model {
  std::string name;
  std::vector<double> gib;
};

TEST(EqualReplicas, LoseLittleOnEqualDevices) {
  const std::vector<Model> models{{"ds2-wide", {4, 6, 8, 10}},
                                  {"omni-ctc-1b", {4, 8, 12, 16}},
                                  {"omni-ctc-3b", {12, 16, 24, 40}},
                                  {"fastconformer-xxl", {6, 10, 16}},
                                  {"omni-ctc-7b", {24, 36, 60, 80}}};
  int cases = 0, wide = 0;
  for (const auto& [name, gib] : models) {
    const Totals sums(name);
    for (const int devices : {4, 6, 8})
      for (const double memory : gib) {
        const double loss = loss_of_equal_numbers(sums, devices, memory * kGiB);
        EXPECT_LE(loss, 1.08) << name << " on " << devices << " devices of " << memory << " GiB";
        ++cases;
        wide += loss > 1.02;
      }
  }
  EXPECT_EQ(cases, 57);
  EXPECT_LE(wide, 1);
}

/// Two layers, one three times the other: the wide one wants three replicas.
TEST(EqualReplicas, LoseWhereAWideLayerCannotBeCut) {
  Totals sums("ds2-wide");
  sums.work = {0, 1, 4};
  sums.parameters = {0, 10, 20};
  sums.kept = {0, 0, 0};
  EXPECT_DOUBLE_EQ(loss_of_equal_numbers(sums, 4, 15), 1.5);
}

}  // namespace
}  // namespace penstock::partition
