// Whole steps of training on the CUDA backend.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/models/conformer.h"
#include "layers/models/transformer.h"
#include "layers/models/wav2vec2.h"
#include "tests/support/comm/nccl_devices.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

/// Short: under emulation every thread of every kernel takes its time.
TrainingJob small_job(layers::DeviceKind device, const std::string& compute) {
  TrainingJob job = test::small_job();
  job.device = device;
  job.precision = {.compute = compute, .loss_scaling = "static", .scale = 64};
  job.lanes = 2;
  job.steps = 2;
  job.shrink = 3;
  return job;
}

struct Layout {
  int stages, replicas;
  const char* schedule = "1f1b";
};

void expect_equal_bits(TrainingJob job, const TrainingOutcome& alone,
                       const std::vector<Layout>& layouts) {
  for (const auto& [stages, replicas, schedule] : layouts) {
    job.stages = stages;
    job.replicas = replicas;
    job.schedule = schedule;
    EXPECT_EQ(train_on_noise(job), alone)
        << stages << " stages × " << replicas << " replicas, " << schedule;
  }
}

class CudaTraining : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  }
};

TEST_P(CudaTraining, StagesAndReplicasChangeNoBit) {
  TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
  const TrainingOutcome alone = train_on_noise(job);
  expect_equal_bits(job, alone, {{1, 1}, {3, 1}, {2, 2}, {2, 2, "zb-h1"}, {2, 1, "zb-v"}});
  job.recompute = true;
  expect_equal_bits(job, alone, {{2, 1}, {2, 1, "zb-v"}});
  job.recompute = false;
  job.recomputed_layers = {1, 2, 3, 5};
  expect_equal_bits(job, alone, {{2, 1}, {2, 1, "zb-h1"}});
}

TEST_P(CudaTraining, OffloadChangesNoBit) {
  TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
  const TrainingOutcome alone = train_on_noise(job);
  job.resident = 1;
  expect_equal_bits(job, alone, {{1, 1, "gpipe"}, {3, 1}, {2, 1, "zb-v"}});
  job.resident = 2;
  job.recompute = true;
  expect_equal_bits(job, alone, {{2, 2, "gpipe"}, {2, 1, "zb-h1"}});
}

/// They are read before the device has ended the step in front.
TEST(CudaTrainingWithoutFeatures, LosesNoStepThatIsDone) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp32");
  job.steps = 3;
  job.unreadable_step = 2;
  std::vector<double> losses;
  job.reported = [&losses](const StepReport& report) { losses.push_back(report.loss); };
  EXPECT_THROW(train_on_noise(job), Error);
  EXPECT_EQ(losses.size(), 2u);
}

/// A time step of 17 utterances is a product and a kernel for the gates in FP32, one of 3 is one
/// kernel: a step of both.
TEST(CudaTrainingOfManyUtterances, ChangesNoBit) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp32");
  job.lengths = {{}, {37, 21, 30}, {26}, {}};
  for (std::int64_t i = 0; i < 17; ++i) {
    job.lengths[0].push_back(20 + i * 5 % 7);
    job.lengths[3].push_back(26 - i * 3 % 5);
  }
  const TrainingOutcome alone = train_on_noise(job);
  expect_equal_bits(job, alone, {{3, 1}, {2, 2, "zb-h1"}});
  job.recompute = true;
  expect_equal_bits(job, alone, {{2, 1}});
}

void expect_no_shards_to_show(DeviceLinks links) {
  for (const char* compute : {"fp32", "fp16"}) {
    TrainingJob job = small_job(layers::DeviceKind::cuda, compute);
    job.optimizer.kind = "lamb";
    job.optimizer.weight_decay = 1e-3;
    const TrainingOutcome alone = train_on_noise(job);
    job.links = links;
    job.shard = true;
    expect_equal_bits(job, alone, {{2, 2}});
  }
}

TEST(CudaTrainingInShards, ChangesNoBit) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  expect_no_shards_to_show(DeviceLinks::host);
}

TEST(CudaTrainingOverNccl, ShardsChangeNoBit) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  expect_no_shards_to_show(DeviceLinks::nccl);
}

TEST(CudaTrainingOverNccl, StagesAndReplicasChangeNoBit) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp16");
  const TrainingOutcome alone = train_on_noise(job);
  job.links = DeviceLinks::nccl;
  expect_equal_bits(job, alone,
                    {{2, 1},
                     {3, 1},
                     {3, 1, "gpipe"},
                     {2, 2},
                     {2, 2, "gpipe"},
                     {3, 1, "zb-h2"},
                     {2, 2, "interleaved"},
                     {2, 2, "zb-v"}});
}

/// One layer's gradient overflows, which ranks without it can't know when they update.
void expect_no_late_norm_to_show(DeviceLinks links) {
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp16");
  job.precision.loss_scaling = "backoff";
  job.steps = 5;
  job.poisoned_layer = 3;
  job.poisoned_call = 5 * 3 + 1;
  const TrainingOutcome alone = train_on_noise(job);
  EXPECT_FALSE(std::isfinite(alone.norms.at(3)));
  job.links = links;
  job.post_validation = true;
  for (const auto& [stages, replicas, schedule] : {Layout{3, 1, "zb-h2"}, Layout{2, 2}}) {
    job.stages = stages;
    job.replicas = replicas;
    job.shard = replicas > 1;
    job.schedule = schedule;
    const TrainingOutcome late = train_on_noise(job);
    EXPECT_EQ(late.losses, alone.losses) << schedule;
    EXPECT_EQ(late.scales, alone.scales) << schedule;
    EXPECT_EQ(late.tensors, alone.tensors) << schedule;
    EXPECT_EQ(late.optimistic, 2) << schedule;
    EXPECT_EQ(late.rolled_back, 1) << schedule;
  }
}

TEST(CudaTrainingWithPostValidation, ChangesNoBit) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  expect_no_late_norm_to_show(DeviceLinks::host);
}

TEST(CudaTrainingOverNccl, PostValidationChangesNoBit) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  expect_no_late_norm_to_show(DeviceLinks::nccl);
}

// The result is read where the update runs, or by the host where an optimizer takes norms.
TEST(CudaTrainingOverNccl, SkipsStepsOnEveryRank) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  for (const char* kind : {"adamw", "lamb"}) {
    TrainingJob job = small_job(layers::DeviceKind::cuda, "fp16");
    job.optimizer.kind = kind;
    job.precision.loss_scaling = "logmax";
    job.steps = 3;
    job.poisoned_step = 1;
    const TrainingOutcome alone = train_on_noise(job);
    EXPECT_FALSE(std::isfinite(alone.norms[1])) << kind;
    EXPECT_TRUE(std::isfinite(alone.norms[2])) << kind;
    job.links = DeviceLinks::nccl;
    job.stages = job.replicas = 2;
    const TrainingOutcome together = train_on_noise(job);
    EXPECT_EQ(together.tensors, alone.tensors) << kind;
    EXPECT_EQ(together.scales, alone.scales) << kind;
  }
}

// Edges, replicas and the norm have communicators of their own, of which several spin by then.
TEST(CudaTrainingOverNccl, EndsOnAllRanksWhereOneFails) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  for (const auto& [stages, replicas, schedule] : {Layout{2, 2}, Layout{3, 1, "zb-h2"}}) {
    TrainingJob job = small_job(layers::DeviceKind::cuda, "fp16");
    job.links = DeviceLinks::nccl;
    job.post_validation = true;
    job.stages = stages;
    job.replicas = replicas;
    job.schedule = schedule;
    for (job.failing_rank = 0; job.failing_rank < stages * replicas; ++job.failing_rank) try {
        train_on_noise(job);
        ADD_FAILURE() << schedule << ", rank " << job.failing_rank << ", did not fail";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "this rank fails") << schedule;
      }
  }
}

// A sum of two numbers has one order.
TEST(CudaTrainingOverNccl, AddsTwoReplicasByNcclAsByLanes) {
  if (const auto lack = test::lack_for_nccl(4); !lack.empty()) GTEST_SKIP() << lack;
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp16");
  const TrainingOutcome alone = train_on_noise(job);
  job.links = DeviceLinks::nccl;
  job.reduction = ReductionOrder::library;
  expect_equal_bits(job, alone, {{1, 2}, {2, 2}});
}

// Six lanes in two replicas are added three and three instead of four and two.
TEST(CudaTrainingOverNccl, AddsLanesBeforeNcclAddsReplicas) {
  if (const auto lack = test::lack_for_nccl(2); !lack.empty()) GTEST_SKIP() << lack;
  TrainingJob job = small_job(layers::DeviceKind::cuda, "fp32");
  job.lanes = 6;
  const TrainingOutcome alone = train_on_noise(job);
  job.links = DeviceLinks::nccl;
  job.reduction = ReductionOrder::library;
  job.replicas = 2;
  const TrainingOutcome together = train_on_noise(job);
  EXPECT_EQ(together.losses.front(), alone.losses.front());
  EXPECT_LE(test::relative_error(together.losses, alone.losses), 1e-5);
  EXPECT_LE(test::relative_error(together.norms, alone.norms), 1e-5);
}

// Errors of the first step's gradients are those of sums of a few hundred products; AdamW makes
// them whole steps where a gradient is near 0, so that only losses and norms are compared.
void expect_close_to_cpu(TrainingJob job, const TrainingOutcome& cuda) {
  job.device = layers::DeviceKind::cpu;
  const TrainingOutcome cpu = train_on_noise(job);
  const double rounding = job.precision.compute == "fp32"   ? 0
                          : job.precision.compute == "bf16" ? 0x1p-8
                                                            : 0x1p-11;  // TF32 has fp16's bits
  EXPECT_LE(test::relative_error(cuda.losses, cpu.losses), 1e-4 + 4 * rounding);
  EXPECT_LE(test::relative_error(cuda.norms, cpu.norms), 1e-3 + 16 * rounding);
}

TEST_P(CudaTraining, AgreesWithTheCpu) {
  const TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
  expect_close_to_cpu(job, train_on_noise(job));
}

/// The other families: residual units, attention with positions of all kinds, convolutions over
/// frames and depthwise ones.
TEST_P(CudaTraining, OtherFamiliesAgreeWithTheCpu) {
  struct Sized {
    configs::ModelConfig model;
    int shrink = 3;  // as TrainingJob::shrink
  };
  const Sized families[] = {
      {{.features = 17,
        .family =
            layers::ConformerOptions{
                .width = 12, .heads = 3, .layers = 1, .kernel = 5, .dropout = 0.1}}},
      {{.features = 17,
        .family = layers::ConformerOptions{.width = 12,
                                           .heads = 3,
                                           .layers = 1,
                                           .kernel = 5,
                                           .subsampling = 8,
                                           .channels = 3,
                                           .positions = "absolute",
                                           .scale_input = true}},
       1},  // after ×8, a third of the frames would leave batch norm two rows
      {{.features = 17,
        .family =
            layers::TransformerOptions{
                .channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 20}}},
      {{.features = 1,
        .family = layers::Wav2Vec2Options{.channels = 6,
                                          .kernels = {3, 2},
                                          .strides = {2, 1},
                                          .frontend_norm = "group",
                                          .frontend_bias = false,
                                          .width = 12,
                                          .heads = 3,
                                          .layers = 1,
                                          .inner = 20,
                                          .norm_first = false,
                                          .position_kernel = 6,
                                          .position_groups = 3}}}};
  for (const auto& [model, shrink] : families) {
    SCOPED_TRACE(model.family.name());
    TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
    job.model = model;
    job.shrink = shrink;
    const TrainingOutcome alone = train_on_noise(job);
    expect_equal_bits(job, alone, {{2, 1}});
    expect_close_to_cpu(job, alone);
  }
}

/// A language model as Qwen3's, and an attention decoder beside CTC. The heads of both are tied to
/// embeddings on the other stage.
TEST_P(CudaTraining, DecodersAgreeWithTheCpu) {
  const layers::DecoderOptions small{
      .width = 12, .layers = 1, .heads = 2, .inner = 10, .tied = true};
  layers::DecoderOptions language_model = small, attention = small;
  language_model.kv_heads = 1;
  language_model.qk_norm = true;
  attention.ctc_weight = 0.3;
  attention.positions = "learned";
  attention.max_positions = 40;
  for (const auto& [decoder, networks] :
       {std::pair{"lm", language_model}, std::pair{"attention", attention}}) {
    SCOPED_TRACE(decoder);
    TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
    job.model = {.features = 17,
                 .decoder = decoder,
                 .family =
                     layers::TransformerOptions{
                         .channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 20},
                 .networks = networks};
    const TrainingOutcome alone = train_on_noise(job);
    expect_equal_bits(job, alone, {{2, 1}, {2, 2}});
    expect_close_to_cpu(job, alone);
  }
}

/// LoRA on attention and feed-forward units, beside a trained head and frozen weights.
TEST_P(CudaTraining, AdaptersAgreeWithTheCpu) {
  TrainingJob job = small_job(layers::DeviceKind::cuda, GetParam());
  job.model = {.features = 17,
               .family = layers::TransformerOptions{
                   .channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 20}};
  job.model.lora = {
      .rank = 3, .dropout = 0.2, .targets = {"*.qkv", "*.linear1"}, .train = {"output.*"}};
  const TrainingOutcome alone = train_on_noise(job);
  job.shard = true;
  expect_equal_bits(job, alone, {{2, 1}, {2, 2}});
  job.shard = false;
  expect_close_to_cpu(job, alone);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaTraining, ::testing::Values("fp32", "tf32", "fp16", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace penstock::runtime
