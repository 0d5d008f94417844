// Training steps that tools/gpu_check and penstock bench measured on one H100 (docs/gpu-status.md),
// against what its device file says. The file has published rates of products and measured ones of
// single layers; no number of it was fitted to a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/averages.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/cost/device_file.h"

namespace penstock::partition {
namespace {

using layers::BackendSizes, layers::DeviceKind, layers::DType, layers::Fp32Products;

constexpr BackendSizes kFp32{DeviceKind::cuda, DType::f32};
constexpr BackendSizes kTf32{DeviceKind::cuda, DType::f32, Fp32Products::tf32};
constexpr BackendSizes kFp16{DeviceKind::cuda, DType::f16}, kBf16{DeviceKind::cuda, DType::bf16};

struct MeasuredStep {
  const char* model;
  BackendSizes sizes;
  std::int64_t utterances, frames_a_second;
  int labels;
  double milliseconds;
  double page;  // how much longer the file says, in percent: docs/design/cost-model.md
};

const MeasuredStep kMeasuredSteps[] = {
    {"ds2-large", kFp16, 8, 100, 29, 39.6, -17},
    {"ds2-large", kFp16, 128, 100, 29, 123.1, 9},
    {"ds2-large", kTf32, 8, 100, 29, 53.3, -8},
    {"ds2-large", kTf32, 128, 100, 29, 236.3, 3},
    {"ds2-large", kFp32, 8, 100, 29, 228.5, -68},
    {"ds2-large", kFp32, 128, 100, 29, 891.5, -15},
    {"omni-ctc-300m", kBf16, 8, 16000, 9812, 49.7, -25},
    {"fastconformer-l", kBf16, 8, 100, 1025, 22.9, -37},
};

/// Utterances as penstock bench --seconds 8 has them: from 4 s to 8 s.
std::vector<std::int64_t> lengths_of(const MeasuredStep& step) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t u = 0; u < step.utterances; ++u)
    lengths.push_back(step.frames_a_second * (4 * (step.utterances - 1) + 4 * u) /
                      (step.utterances - 1));
  return lengths;
}

/// Returns the seconds that plans count for updating a parameter: AdamW reads weight, gradient and
/// two numbers, and writes all but the gradient.
double parameter_seconds(const DeviceRates& rates) { return 7 * sizeof(float) / rates.bandwidth; }

/// Forward, backward and the update.
double seconds_of(const MeasuredStep& step) {
  const configs::Config config = configs::parse_config(
      "[model]\nbase = \"" + std::string(step.model) + "\"\n", "test", layers::model_families());
  const LayerSequence sequence = build_model(config.model, step.labels);
  const std::vector<std::int64_t> lengths = lengths_of(step);
  const DeviceRates rates = read_device("h100").rates(step.sizes);
  double seconds = 0, parameters = 0;
  for (const LayerCost& cost : analytic_costs(sequence, lengths, step.sizes, rates))
    seconds += cost.total();
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, step.sizes))
    for (const layers::ParamDecl& param : plan.params)
      parameters += static_cast<double>(layers::element_count(param.shape));
  return seconds + parameters * parameter_seconds(rates);
}

TEST(MeasuredSteps, AreAsFarOffAsThePageSays) {
  for (const MeasuredStep& step : kMeasuredSteps) {
    const double off = 100 * (1e3 * seconds_of(step) / step.milliseconds - 1);
    EXPECT_NEAR(off, step.page, 0.5) << step.model << ", " << step.utterances;
  }
}

TEST(MeasuredSteps, AreMetWithinASixthInTheMedian) {
  std::vector<double> errors;
  for (const MeasuredStep& step : kMeasuredSteps)
    errors.push_back(std::abs(1e3 * seconds_of(step) / step.milliseconds - 1));
  EXPECT_LT(median(errors), 1.0 / 6);
}

}  // namespace
}  // namespace penstock::partition
