#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>

#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/qwen3_asr.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/data/batch/sample_hash.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/run_shape.h"
#include "runtime/trainer/checkpoint_writer.h"
#include "runtime/trainer/training_step.h"
#include "tests/support/layers/watched_backend.h"
#include "tests/support/partition/found_lists.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr int kStages = 2, kReplicas = 2;

configs::Config small_recipe() {
  configs::Config config;
  config.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 13, .layers = 2}};
  config.data.speeds = {0.9, 1, 1.1};
  config.data.micro_batch_seconds = 1.2;
  config.data.micro_batches = 5;
  config.pipeline.stages = kStages;
  config.pipeline.replicas = kReplicas;
  config.pipeline.bucket_bytes = 5000;
  config.trainer.steps = 12;
  return config;
}

/// Utterances of 0.05 to 0.45 s with 0 to 3 labels.
Corpus small_corpus(std::uint64_t utterances, std::uint64_t seed) {
  std::vector<AudioLength> lengths;
  for (std::uint64_t u = 0; u < utterances; ++u)
    lengths.push_back(
        {800 + static_cast<std::int64_t>(sample_hash(SampleKind::order, seed, {u}) % 6400), 16000});
  Corpus corpus;
  corpus.lengths = lengths;
  corpus.labels = [](std::uint64_t id) { return std::vector<std::int32_t>(id % 4, 1); };
  corpus.most_labels = 3;
  return corpus;
}

void fill(int, std::span<float> x_FC, std::span<float> weights) {
  for (std::size_t i = 0; i < x_FC.size(); ++i) x_FC[i] = static_cast<float>(i % 17) / 8 - 1;
  std::ranges::fill(weights, 1.0f);
}

/// Bytes that come from the one lane of the other replica, where replicas share nothing: its half
/// of every bucket, in whole cache lines, to the first replica.
std::size_t asked_of_reduction(std::size_t arena, std::size_t bucket, int replica) {
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < arena; begin += bucket) {
    const std::size_t size = std::min(bucket, arena - begin);
    const std::size_t first = std::min(size, (size / 2 + 63) / 64 * 64);
    bytes += replica == 0 ? first : size - first;
  }
  return bytes;
}

/// Returns, if lists are found, those of the busier replica, with three of five micro-batches.
partition::RunSchedule schedule_of(const configs::Config& config) {
  if (config.pipeline.schedule != partition::kFound)
    return partition::RunSchedule(config.pipeline.schedule, kStages);
  return test::found_lists(kStages, 3,
                           partition::order_of_replica(config.trainer.order, kReplicas, 3));
}

struct CutModel {
  partition::LayerSequence sequence;
  int last_chunk = 0;  // its layers; 0: all from the eighth on
};

StageOptions part_of(const CutModel& model, const configs::Config& config,
                     const partition::StageReplica& here) {
  const partition::LayerSequence& sequence = model.sequence;
  StageOptions part;
  part.stage = here.stage;
  part.schedule = schedule_of(config).resident(config.pipeline.resident);
  part.recompute = partition::recomputed_layers(config.pipeline, sequence);
  part.cut = part.schedule.chunk_ranks().size() == 2 ? std::vector{0, 7, sequence.size()}
                                                     : std::vector{0, 3, 6, 7, sequence.size()};
  if (model.last_chunk > 0) part.cut.end()[-2] = sequence.size() - model.last_chunk;
  part.sizes = backend_sizes(config);
  part.store.kinds.sharing = sharing_of(config.pipeline);
  part.store.kinds.slots = slot_format(config.optimizer);
  part.store.slots.averages = config.trainer.ema > 0 ? 1 : 0;
  part.store.replica = here.replica;
  return part;
}

/// A stage's chunks and what is planned for them.
struct Held {
  Held(const partition::ChunkBytes& planned, const StageOptions& part) {
    const std::vector<int> ranks = part.schedule.chunk_ranks();
    for (int chunk = 0; chunk < std::ssize(ranks); ++chunk)
      if (ranks[chunk] == part.stage) {
        chunks.push_back({part.cut[chunk], part.cut[chunk + 1], chunk});
        buffers.push_back(planned.buffers(part.cut[chunk], part.cut[chunk + 1], chunk));
      }
    bytes = planned.of_replica(chunks, part.store.replica);
    EXPECT_LE(bytes.total(), planned(chunks).total());
  }
  std::vector<partition::ChunkRange> chunks;
  std::vector<partition::ChunkBuffers> buffers;
  partition::StageBytes bytes;
};

TrainingStep::Options step_options(const partition::LayerSequence& sequence,
                                   const configs::Config& config) {
  TrainingStep::Options options;
  options.precision = config.precision;
  options.bucket_bytes = config.pipeline.bucket_bytes;
  options.model_blocks =
      partition::norm_blocks(partition::plan_layers(sequence, std::vector<std::int64_t>{50}, {}));
  options.lanes_of = {1, 1};
  options.post_validation = config.pipeline.post_validation;
  options.trusted_after = 0;
  options.ema = config.trainer.ema;
  return options;
}

void expect_shares(const partition::StageBytes& bytes, const configs::PipelineConfig& pipeline,
                   int replica) {
  if (pipeline.shard_optimizer) {
    EXPECT_GT(bytes.sharded_away, 0u);
    return;
  }
  EXPECT_EQ(bytes.reduction, asked_of_reduction(bytes.gradients, pipeline.bucket_bytes, replica));
  EXPECT_EQ(bytes.sharded_away, 0u);
}

StepSequence steps_of(const Corpus& corpus, const configs::Config& config) {
  StepSequenceOptions options{corpus.lengths, config.data, config.features, 1, kReplicas};
  options.order = config.trainer.order;
  options.most_labels = corpus.most_labels;
  return StepSequence(std::move(options));
}

/// Evaluates the validation set, and lets a language model write texts for it.
void validate(Stage& stage, const configs::Config& config, const Corpus& validation, int replica) {
  ExecutorCallbacks callbacks;
  callbacks.read_features = fill;
  const auto batches = evaluation_batches(validation.lengths, config.data, config.features);
  const StepWork work =
      evaluation_work(batches, validation, replica, kReplicas, stage.needs_labels());
  stage.evaluate(work, callbacks);
  if (const auto writing = config.model.loss().writing)
    stage.write_texts(work, callbacks, *writing, [](const auto&, auto) {});
}

/// One rank of a training, by hand, so that its backend counts.
void train_counted(comm::Communicator& world, const CutModel& model, const configs::Config& config,
                   const Corpus& corpus, const Corpus& validation,
                   const std::filesystem::path& output) {
  const partition::LayerSequence& sequence = model.sequence;
  const StepSequence steps = steps_of(corpus, config);
  partition::Plan plan;
  plan.ranks = partition::neighbouring_stages(kStages, kReplicas);
  const RankGrid grid(world, plan);
  const int replica = grid.here().replica;
  const StageOptions part = part_of(model, config, grid.here());
  const RunShape shape =
      shape_of_run(config, steps, {validation.lengths, validation.most_labels}, 29);
  const Held held(bytes_of_run(sequence, config, shape, part.schedule), part);
  const partition::StageBytes& bytes = held.bytes;

  test::WatchedBackend backend;
  TrainingStep* training = nullptr;
  const auto stream = backend.make_stream([&] {
    if (training != nullptr) training->progress();
  });
  Stage stage(backend, *stream, grid.pipeline(), sequence, part);
  const std::size_t of_host_before = backend.allocated_host;
  stage.reserve(held.buffers);
  TrainingStep step(backend, *stream, grid, stage, step_options(sequence, config));
  training = &step;
  EXPECT_EQ(step.reduction_bytes(), bytes.reduction);
  expect_shares(bytes, config.pipeline, replica);
  EXPECT_EQ(backend.allocated + bytes.reduction, bytes.total());
  const std::size_t of_host = backend.allocated_host;
  EXPECT_EQ(of_host - of_host_before, bytes.host);

  TrainingClock clock;
  while (clock.step < config.trainer.steps)
    step.run(training_work(steps.at(clock.step), corpus, 1, {replica, 1}, stage.needs_labels()),
             fill, clock);
  validate(stage, config, validation, replica);
  const Saving saving(backend, *stream, grid, stage, {{"m", "v"}, {}});
  CheckpointWriter writer(saving, {.output = output});
  writer.begin({});
  EXPECT_EQ(writer.wait()->fault, "");
  step.flush(clock);
  if (config.trainer.ema > 0) step.exchange_averages();
  EXPECT_EQ(step.optimistic() > 0, config.pipeline.post_validation);
  EXPECT_EQ(backend.allocated + bytes.reduction, bytes.total()) << "while it was running";
  EXPECT_EQ(backend.allocated_host, of_host) << "while it was running";
}

struct Kept {
  const char* name;
  bool shard;
  const char* compute;
  const char* schedule = "1f1b";
  const char* recompute = "none";
  std::vector<std::string> recomputed = {};
  bool post_validation = false;
  std::vector<std::string> frozen = {};
  const char* state = "fp32";
  int resident = 0;
  double ema = 0;
  configs::LoraConfig lora = {};
  const char* decoder = "ctc";
  double ctc_weight = 0;
  bool tied = false;
  int last_chunk = 0;           // CutModel::last_chunk
  bool cut_utterances = false;  // into chunks
};

class PlannedTrainingMemory : public testing::TestWithParam<Kept> {};

TEST_P(PlannedTrainingMemory, IsAllocatedAndNoStepTakesMore) {
  configs::Config config = small_recipe();
  config.pipeline.shard_optimizer = GetParam().shard;
  config.precision.compute = GetParam().compute;
  config.optimizer.state = GetParam().state;
  config.trainer.ema = GetParam().ema;
  config.pipeline.schedule = GetParam().schedule;
  if (config.pipeline.schedule == partition::kFound) config.trainer.order = {3, 0, 4, 1, 2};
  config.pipeline.resident = GetParam().resident;
  config.pipeline.recompute = GetParam().recompute;
  config.pipeline.recompute_layers = GetParam().recomputed;
  config.pipeline.post_validation = GetParam().post_validation;
  config.optimizer.freeze = GetParam().frozen;
  config.model.lora = GetParam().lora;
  config.model.decoder = GetParam().decoder;
  if (GetParam().cut_utterances)
    config.model.family = layers::Qwen3AsrOptions{.channels = 2,
                                                  .chunk = 10,
                                                  .window = 20,
                                                  .width = 12,
                                                  .heads = 3,
                                                  .layers = 2,
                                                  .inner = 20,
                                                  .dropout = 0.1};
  if (config.model.decoder == "lm")
    config.model.networks = {
        .width = 24, .layers = 2, .heads = 2, .inner = 30, .tied = GetParam().tied, .prompt = {1}};
  if (config.model.decoder == "attention")
    config.model.networks = {.width = 24,
                             .layers = 2,
                             .heads = 2,
                             .inner = 30,
                             .tied = GetParam().tied,
                             .dropout = 0.1,
                             .prompt = {1},
                             .embedding_norm = true};
  config.model.networks.ctc_weight = GetParam().ctc_weight;
  const CutModel model{partition::build_trained_model(config, 29), GetParam().last_chunk};
  const test::TemporaryFolder folder;
  const Corpus corpus = small_corpus(23, 5), validation = small_corpus(31, 6);
  comm::run_as_threads({.ranks = kStages * kReplicas}, [&](comm::Communicator& world) {
    train_counted(world, model, config, corpus, validation, folder.path());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Of, PlannedTrainingMemory,
    testing::Values(
        Kept{"Whole", false, "fp32"}, Kept{"Shards", true, "fp32"},
        Kept{"ShardsUnderHalves", true, "fp16"}, Kept{"PartedPasses", false, "fp32", "zb-h2"},
        Kept{"FoundLists", false, "fp32", "found"},
        Kept{"FoundListsInShards", true, "fp16", "found"},
        Kept{"FoundListsMadeAnew", false, "fp32", "found", "stage"},
        Kept{"ChunksInARound", true, "fp16", "interleaved"},
        Kept{"ChunksDownAndUp", false, "fp32", "zb-v"},
        Kept{"ChunksDownAndUpInShards", true, "fp32", "zb-v"},
        Kept{"Inputs", false, "fp16", "1f1b", "stage"},
        Kept{"InputsOfChunks", false, "fp32", "zb-v", "stage"},
        Kept{"InputsOfLayers",
             true,
             "fp16",
             "1f1b",
             "layers",
             {"norm1", "relu1", "conv2", "relu2", "rnn2"}},
        Kept{"InputsOfLayersOfChunks",
             false,
             "fp32",
             "zb-v",
             "layers",
             {"conv1", "relu1", "rnn1", "rnn2", "ctc"}},
        Kept{"InputsOfLayersOfPartedPasses",
             false,
             "fp32",
             "zb-h1",
             "layers",
             {"norm1", "rnn1.input", "rnn1"}},
        Kept{"Backups", false, "fp32", "zb-h2", "none", {}, true},
        Kept{"BackupsOfShards", true, "fp16", "1f1b", "none", {}, true},
        Kept{"Halves", false, "fp32", "1f1b", "none", {}, false, {}, "bf16"},
        Kept{"Codes", false, "bf16", "zb-v", "none", {}, false, {}, "8bit"},
        Kept{"ShardsInHalves", true, "fp16", "1f1b", "none", {}, false, {}, "bf16"},
        Kept{"BackupsOfShardsInCodes", true, "fp32", "1f1b", "none", {}, true, {}, "8bit"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Transducers, PlannedTrainingMemory,
    testing::Values(Kept{.name = "Rnnt", .shard = false, .compute = "fp32", .decoder = "rnnt"},
                    Kept{.name = "TdtInShards", .shard = true, .compute = "fp16", .decoder = "tdt"},
                    Kept{.name = "RnntOfPartedPasses",
                         .shard = false,
                         .compute = "bf16",
                         .schedule = "zb-h1",
                         .recompute = "stage",
                         .decoder = "rnnt"},
                    Kept{.name = "RnntBesideCtc",
                         .shard = true,
                         .compute = "fp16",
                         .recompute = "stage",
                         .decoder = "rnnt",
                         .ctc_weight = 0.3},
                    Kept{.name = "FrozenTdtBesideCtc",
                         .shard = false,
                         .compute = "fp32",
                         .frozen = {"transducer.*"},
                         .decoder = "tdt",
                         .ctc_weight = 0.3}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    LanguageModels, PlannedTrainingMemory,
    testing::Values(
        Kept{.name = "Lm", .shard = false, .compute = "fp32", .decoder = "lm"},
        Kept{.name = "LmInShards", .shard = true, .compute = "fp16", .decoder = "lm"},
        Kept{.name = "LmOfPartedPasses",
             .shard = false,
             .compute = "bf16",
             .schedule = "zb-v",
             .recompute = "stage",
             .decoder = "lm"},
        Kept{.name = "TiedLm", .shard = false, .compute = "fp32", .decoder = "lm", .tied = true},
        Kept{.name = "TiedLmOfTwoStages",
             .shard = false,
             .compute = "bf16",
             .ema = 0.9,
             .decoder = "lm",
             .tied = true,
             .last_chunk = 1},
        Kept{.name = "TiedLmInShards",
             .shard = true,
             .compute = "fp32",
             .post_validation = true,
             .state = "8bit",
             .decoder = "lm",
             .tied = true,
             .last_chunk = 3},
        Kept{.name = "TiedLmInShardsUnderHalves",
             .shard = true,
             .compute = "fp16",
             .decoder = "lm",
             .tied = true,
             .last_chunk = 3},
        Kept{.name = "TiedLmOfPartedPasses",
             .shard = false,
             .compute = "bf16",
             .schedule = "zb-v",
             .recompute = "stage",
             .post_validation = true,
             .decoder = "lm",
             .tied = true,
             .last_chunk = 2}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(AttentionDecoders, PlannedTrainingMemory,
                         testing::Values(Kept{.name = "Attention",
                                              .shard = false,
                                              .compute = "fp32",
                                              .decoder = "attention"},
                                         Kept{.name = "AttentionBesideCtcInShards",
                                              .shard = true,
                                              .compute = "fp16",
                                              .decoder = "attention",
                                              .ctc_weight = 0.3},
                                         Kept{.name = "FrozenAttentionOfPartedPasses",
                                              .shard = false,
                                              .compute = "bf16",
                                              .schedule = "zb-v",
                                              .recompute = "stage",
                                              .frozen = {"decoder.block1.*", "decoder.text.*"},
                                              .decoder = "attention",
                                              .ctc_weight = 0.3}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Averaged, PlannedTrainingMemory,
    testing::Values(Kept{.name = "Averages", .shard = false, .compute = "fp32", .ema = 0.9},
                    Kept{.name = "AveragesOfShards", .shard = true, .compute = "fp16", .ema = 0.9},
                    Kept{.name = "AveragesBesideHalves",
                         .shard = true,
                         .compute = "fp32",
                         .state = "bf16",
                         .ema = 0.9},
                    Kept{.name = "BackupsOfAveragesBesideCodes",
                         .shard = false,
                         .compute = "bf16",
                         .post_validation = true,
                         .frozen = {"conv*", "norm1.*"},
                         .state = "8bit",
                         .ema = 0.9}),
    [](const auto& info) { return info.param.name; });

const std::vector<std::string> kFront = {"conv*", "norm?.*", "rnn1*"};

INSTANTIATE_TEST_SUITE_P(
    Offloaded, PlannedTrainingMemory,
    testing::Values(Kept{.name = "OneStays", .shard = false, .compute = "fp32", .resident = 1},
                    Kept{
                        .name = "TwoStayInShards", .shard = true, .compute = "fp16", .resident = 2},
                    Kept{.name = "OneOfPartedPasses",
                         .shard = false,
                         .compute = "fp32",
                         .schedule = "zb-h2",
                         .resident = 1},
                    Kept{.name = "TwoOfChunks",
                         .shard = false,
                         .compute = "fp32",
                         .schedule = "zb-v",
                         .recompute = "stage",
                         .resident = 2},
                    Kept{.name = "OneOfFoundLists",
                         .shard = false,
                         .compute = "fp16",
                         .schedule = "found",
                         .resident = 1}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Frozen, PlannedTrainingMemory,
    testing::Values(
        Kept{"Front", false, "fp32", "1f1b", "none", {}, true, kFront},
        Kept{"FrontInShards", true, "fp16", "1f1b", "none", {}, true, {"conv*", "norm1.*"}},
        Kept{"FrontOfChunks", false, "fp32", "zb-v", "stage", {}, false, kFront},
        Kept{"MiddleOfPartedPasses",
             true,
             "fp16",
             "zb-h2",
             "none",
             {},
             false,
             {"conv2.*", "rnn1.*", "*.bias"}}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(CutUtterances, PlannedTrainingMemory,
                         testing::Values(Kept{.name = "Whole",
                                              .shard = false,
                                              .compute = "fp32",
                                              .cut_utterances = true},
                                         Kept{.name = "InputsUnderHalves",
                                              .shard = true,
                                              .compute = "bf16",
                                              .recompute = "stage",
                                              .cut_utterances = true}),
                         [](const auto& info) { return info.param.name; });

const configs::LoraConfig kLora = {
    .rank = 3, .dropout = 0.1, .targets = {"rnn?.input"}, .train = {"output.*"}};

INSTANTIATE_TEST_SUITE_P(
    Adapted, PlannedTrainingMemory,
    testing::Values(Kept{.name = "Whole", .shard = false, .compute = "fp32", .lora = kLora},
                    Kept{.name = "InShards", .shard = true, .compute = "bf16", .lora = kLora},
                    Kept{.name = "PartedPasses",
                         .shard = false,
                         .compute = "fp16",
                         .schedule = "zb-h2",
                         .post_validation = true,
                         .lora = kLora}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::runtime
