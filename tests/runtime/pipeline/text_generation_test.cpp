#include "runtime/pipeline/text_generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "comm/threads.h"
#include "layers/models/transformer.h"
#include "partition/layout/build_model.h"
#include "partition/schedule/run_schedule.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {
namespace {

using layers::DType;
using Labels = std::vector<std::int32_t>;

constexpr int kClasses = 5;

/// A block of an encoder, and two of a decoder: a language model as Llama or Qwen3 have it, an
/// attention decoder, or one with learned positions beside CTC.
partition::LayerSequence make_sequence(const std::string& decoder) {
  configs::ModelConfig model;
  model.family =
      layers::TransformerOptions{.channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 10};
  model.features = 9;
  model.decoder = decoder == "learned" ? "attention" : decoder == "qwen3" ? "lm" : decoder;
  model.networks = {.width = 12, .layers = 2, .heads = 2, .inner = 10, .prompt = {4}, .bos = 1};
  if (decoder == "qwen3") model.networks.qk_norm = model.networks.tied = true;
  if (decoder == "learned") {
    model.networks.positions = "learned";
    model.networks.max_positions = 12;
    model.networks.embedding_norm = model.networks.tied = model.networks.head_bias = true;
    model.networks.ctc_weight = 0.3;
  }
  return partition::build_model(model, kClasses);
}

/// Five micro-batches of ragged utterances, which have no labels yet.
StepWork make_work() {
  StepWork work;
  std::uint64_t id = 0;
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{31, 47, 23}, {19}, {58, 22}, {40, 39, 41, 20}, {27}}) {
    MicroBatchWork& m = work.micro_batches.emplace_back();
    m.place = work.global_micro_batches++;
    m.lengths = lengths;
    for (std::size_t u = 0; u < lengths.size(); ++u) m.utterances.push_back(id++);
    m.label_lengths.assign(lengths.size(), 0);
  }
  return work;
}

/// Noise of each micro-batch, in their order from `first` on.
ReadFeatures noise_from(int first) {
  return [next = first](int, std::span<float> x_FC, std::span<float> weights) mutable {
    std::mt19937_64 random(static_cast<std::uint64_t>(next++));
    std::normal_distribution<float> normal;
    for (float& x : x_FC) x = normal(random);
    std::ranges::fill(weights, 1.0f);
  };
}

struct Layout {
  std::string decoder = "lm";
  int stages = 1;
  const char* schedule = "1f1b";
  std::vector<int> cut = {};  // empty: one chunk
  DType compute = DType::f32;
  std::int32_t eos = 2;
};

StageOptions make_options(const partition::LayerSequence& sequence, const Layout& layout,
                          int stage) {
  StageOptions options;
  options.stage = stage;
  options.schedule = partition::RunSchedule(layout.schedule, layout.stages);
  options.cut = layout.cut;
  options.cut.insert(options.cut.begin(), 0);
  options.cut.push_back(sequence.size());
  options.sizes.compute = layout.compute;
  options.store.slots.of_elements = 0;
  options.seed = 11;
  return options;
}

/// Returns the text of each utterance.
std::map<std::uint64_t, Labels> write_texts(const Layout& layout) {
  const partition::LayerSequence sequence = make_sequence(layout.decoder);
  std::map<std::uint64_t, Labels> texts;
  comm::run_as_threads({.ranks = layout.stages}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream([&] { world.progress(); });
    Stage stage(*backend, *stream, world, sequence, make_options(sequence, layout, world.rank()));
    ExecutorCallbacks callbacks;
    callbacks.read_features = noise_from(0);
    (void)stage.write_texts(make_work(), callbacks, {.eos = layout.eos},
                            [&](const MicroBatchWork& m, std::vector<Labels> written) {
                              for (std::size_t u = 0; u < written.size(); ++u)
                                texts[m.utterances[u]] = written[u];
                            });
  });
  return texts;
}

/// Returns the likeliest class after `row`. The head's weight is its last parameter.
std::int32_t likeliest(const float* row, const std::vector<layers::HostParameter>& head) {
  const layers::HostParameter& head_VW = head.back();
  const auto width = static_cast<std::size_t>(head_VW.shape[1]);
  std::vector<double> logits;
  for (std::int64_t v = 0; v < head_VW.shape[0]; ++v) {
    const float* weights = head_VW.values.data() + static_cast<std::size_t>(v) * width;
    const double bias = head.size() > 1 ? head.front().values[static_cast<std::size_t>(v)] : 0;
    logits.push_back(std::inner_product(row, row + width, weights, bias));
  }
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// Writes the texts of a micro-batch without caches: each label follows from a pass over all rows.
std::vector<Labels> write_by_whole_passes(Stage& stage, const partition::LayerSequence& sequence,
                                          MicroBatchWork m, std::int32_t eos) {
  const int number = m.place;
  const std::vector<layers::HostParameter> head = stage.last_parameters();
  const std::vector<std::int64_t> most =
      partition::most_written(partition::activation_before_text(sequence, m.lengths, {}));
  std::vector<Labels> texts(m.lengths.size());
  std::vector<bool> ended(texts.size());
  while (std::ranges::count(ended, false) > 0) {
    StepWork work;
    work.global_micro_batches = 1;
    m.place = 0;
    m.labels.clear();
    for (std::size_t u = 0; u < texts.size(); ++u) {
      m.labels.insert(m.labels.end(), texts[u].begin(), texts[u].end());
      m.label_lengths[u] = static_cast<std::int32_t>(texts[u].size());
    }
    work.micro_batches = {m};
    ExecutorCallbacks callbacks;
    callbacks.read_features = noise_from(number);
    callbacks.text = true;
    callbacks.logits = [&](const MicroBatchWork&, const layers::Frames& rows) {
      const float* end = rows.x_FC.as<float>();
      for (std::size_t u = 0; u < texts.size(); ++u) {
        end += rows.lengths[u] * rows.channels();
        if (ended[u]) continue;
        const std::int32_t next = likeliest(end - rows.channels(), head);
        if (next != eos) texts[u].push_back(next);
        ended[u] = next == eos || std::ssize(texts[u]) >= most[u];
      }
    };
    (void)stage.evaluate(work, callbacks);
  }
  return texts;
}

class TextGenerationBy : public testing::TestWithParam<const char*> {};

TEST_P(TextGenerationBy, EqualsWholePassesForEveryLabel) {
  const partition::LayerSequence sequence = make_sequence(GetParam());
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, make_options(sequence, {GetParam()}, 0));
    int by_eos = 0, by_length = 0, labels = 0;
    const StepWork work = make_work();
    for (std::int32_t eos = 0; eos < kClasses; ++eos) {
      const std::map<std::uint64_t, Labels> texts =
          write_texts({.decoder = GetParam(), .eos = eos});
      for (const MicroBatchWork& m : work.micro_batches) {
        const auto whole = write_by_whole_passes(stage, sequence, m, eos);
        const auto most =
            partition::most_written(partition::activation_before_text(sequence, m.lengths, {}));
        for (std::size_t u = 0; u < whole.size(); ++u) {
          EXPECT_EQ(texts.at(m.utterances[u]), whole[u]) << "utterance " << m.utterances[u];
          ++(std::ssize(whole[u]) < most[u] ? by_eos : by_length);
          labels += static_cast<int>(whole[u].size());
        }
      }
    }
    EXPECT_GT(by_eos, 0);
    EXPECT_GT(by_length, 0);
    EXPECT_GT(labels, 100);
  });
}

TEST_P(TextGenerationBy, IsTheSameOnAnyStages) {
  const std::string decoder = GetParam();
  const partition::LayerSequence sequence = make_sequence(decoder);
  const int layers = sequence.size();
  const int text = partition::first_label_reader(partition::plan_without_frames(sequence, {}));
  for (const DType compute : {DType::f32, DType::bf16}) {
    const auto alone = write_texts({.decoder = decoder, .compute = compute});
    ASSERT_EQ(alone.size(), 11u);
    const std::vector<Layout> layouts = {
        {decoder, 2, "1f1b", {text}},                          // the decoder is one stage
        {decoder, 2, "1f1b", {text + 1}},                      // a stage ends with the texts' rows
        {decoder, 3, "1f1b", {text + 2, layers - 1}},          // the loss is alone
        {decoder, 3, "1f1b", {2, text + 3}},                   // a stage has no decoder
        {decoder, 2, "zb-v", {text - 1, text + 1, text + 4}},  // down and up again
        {decoder, 2, "interleaved", {text, text + 2, layers - 1}},
    };
    for (Layout layout : layouts) {
      layout.compute = compute;
      EXPECT_EQ(write_texts(layout), alone)
          << layout.schedule << " " << testing::PrintToString(layout.cut);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, TextGenerationBy,
                         testing::Values("lm", "qwen3", "attention", "learned"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace penstock::runtime
