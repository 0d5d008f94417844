#include "tests/support/runtime/written_texts.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>

#include "comm/threads.h"
#include "layers/models/transformer.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::test {

using runtime::ExecutorCallbacks;
using runtime::MicroBatchWork;
using runtime::ReadFeatures;
using runtime::Stage;
using runtime::StageOptions;
using runtime::StepWork;
using runtime::TextGeneration;

partition::LayerSequence writing_sequence(const std::string& decoder, int beam) {
  configs::ModelConfig model;
  model.family =
      layers::TransformerOptions{.channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 10};
  model.features = 9;
  const bool learned = decoder == "learned" || decoder == "short";
  model.decoder = learned ? "attention" : decoder == "qwen3" ? "lm" : decoder;
  model.networks = {.width = 12, .layers = 2, .heads = 2, .inner = 10, .prompt = {4}, .bos = 1};
  if (decoder == "qwen3") model.networks.qk_norm = model.networks.tied = true;
  if (learned) {
    model.networks.positions = "learned";
    model.networks.max_positions = decoder == "learned" ? 12 : 5;
    model.networks.embedding_norm = model.networks.tied = model.networks.head_bias = true;
    model.networks.ctc_weight = 0.3;
  }
  partition::LayerSequence sequence = partition::build_model(model, kTextClasses);
  sequence.beam = beam;
  return sequence;
}

StepWork writing_work() {
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

ReadFeatures noise_from(int first) {
  return [next = first](int, std::span<float> x_FC, std::span<float> weights) mutable {
    std::mt19937_64 random(static_cast<std::uint64_t>(next++));
    std::normal_distribution<float> normal;
    for (float& x : x_FC) x = normal(random);
    std::ranges::fill(weights, 1.0f);
  };
}

StageOptions writing_stage(const partition::LayerSequence& sequence, const WritingLayout& layout,
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

TextsOf find_texts(const WritingLayout& layout) {
  const partition::LayerSequence sequence = writing_sequence(layout.decoder, layout.decoding.beam);
  TextsOf texts;
  comm::run_as_threads({.ranks = layout.stages}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream([&] { world.progress(); });
    Stage stage(*backend, *stream, world, sequence, writing_stage(sequence, layout, world.rank()));
    ExecutorCallbacks callbacks;
    callbacks.read_features = noise_from(0);
    (void)stage.write_texts(writing_work(), callbacks, layout.writing(),
                            [&](const MicroBatchWork& m, std::vector<TextGeneration::Texts> found) {
                              for (std::size_t u = 0; u < found.size(); ++u)
                                texts[m.utterances[u]] = found[u];
                            });
  });
  return texts;
}

std::map<std::uint64_t, Labels> write_texts(const WritingLayout& layout) {
  std::map<std::uint64_t, Labels> best;
  for (const auto& [id, found] : find_texts(layout)) best[id] = found.front().labels;
  return best;
}

ScoredRows score_texts(Stage& stage, MicroBatchWork m, const std::vector<Labels>& texts) {
  const int number = m.place;
  m.place = 0;
  for (std::size_t u = 0; u < texts.size(); ++u) {
    m.labels.insert(m.labels.end(), texts[u].begin(), texts[u].end());
    m.label_lengths[u] = static_cast<std::int32_t>(texts[u].size());
  }
  StepWork work;
  work.global_micro_batches = 1;
  work.micro_batches = {m};
  ScoredRows scored;
  const auto split = [&](const layers::Frames& frames) {
    std::vector<std::vector<float>> parts;
    const float* row = frames.x_FC.as<float>();
    for (const std::int64_t length : frames.lengths) {
      parts.emplace_back(row, row + length * frames.channels());
      row += length * frames.channels();
    }
    return parts;
  };
  ExecutorCallbacks callbacks;
  callbacks.read_features = noise_from(number);
  callbacks.text = true;
  callbacks.frames = [&](const auto&, const layers::Frames& x) { scored.logits = split(x); };
  callbacks.logits = [&](const auto&, const layers::Frames& x) { scored.rows = split(x); };
  (void)stage.evaluate(work, callbacks);
  return scored;
}

}  // namespace penstock::test
