#include "runtime/pipeline/text_generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "comm/threads.h"
#include "partition/layout/build_model.h"
#include "runtime/pipeline/stage.h"
#include "tests/support/runtime/written_texts.h"

namespace penstock::runtime {
namespace {

using layers::DType;
using test::Labels;

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
    callbacks.read_features = test::noise_from(number);
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
  const partition::LayerSequence sequence = test::writing_sequence(GetParam());
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, test::writing_stage(sequence, {GetParam()}, 0));
    int by_eos = 0, by_length = 0, labels = 0;
    const StepWork work = test::writing_work();
    for (std::int32_t eos = 0; eos < test::kTextClasses; ++eos) {
      const std::map<std::uint64_t, Labels> texts =
          test::write_texts({.decoder = GetParam(), .eos = eos});
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

/// Compares the texts that are found on several stages, and their scores, with those of one.
void expect_the_same_on_any_stages(const std::string& decoder,
                                   const layers::DecodingOptions& decoding) {
  const partition::LayerSequence sequence = test::writing_sequence(decoder);
  const int layers = sequence.size();
  const int text = partition::first_label_reader(partition::plan_without_frames(sequence, {}));
  for (const DType compute : {DType::f32, DType::bf16}) {
    const test::TextsOf alone =
        test::find_texts({.decoder = decoder, .compute = compute, .decoding = decoding});
    ASSERT_EQ(alone.size(), 11u);
    for (const auto& [id, found] : alone)
      EXPECT_EQ(found.size(), static_cast<std::size_t>(decoding.beam)) << "utterance " << id;
    const std::vector<test::WritingLayout> layouts = {
        {decoder, 2, "1f1b", {text}},                          // the decoder is one stage
        {decoder, 2, "1f1b", {text + 1}},                      // a stage ends with the texts' rows
        {decoder, 3, "1f1b", {text + 2, layers - 1}},          // the loss is alone
        {decoder, 3, "1f1b", {2, text + 3}},                   // a stage has no decoder
        {decoder, 2, "zb-v", {text - 1, text + 1, text + 4}},  // down and up again
        {decoder, 2, "interleaved", {text, text + 2, layers - 1}},
    };
    for (test::WritingLayout layout : layouts) {
      layout.compute = compute;
      layout.decoding = decoding;
      EXPECT_EQ(test::find_texts(layout), alone)
          << layout.schedule << " " << testing::PrintToString(layout.cut);
    }
  }
}

TEST_P(TextGenerationBy, IsTheSameOnAnyStages) { expect_the_same_on_any_stages(GetParam(), {}); }

TEST_P(TextGenerationBy, SearchesAlikeOnAnyStages) {
  expect_the_same_on_any_stages(GetParam(), {.beam = 4, .length_penalty = 0.5});
}

INSTANTIATE_TEST_SUITE_P(Decoders, TextGenerationBy,
                         testing::Values("lm", "qwen3", "attention", "learned"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TextGeneration, RefusesABeamWithoutRoom) {
  const partition::LayerSequence sequence = test::writing_sequence("lm", 2);
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, test::writing_stage(sequence, {}, 0));
    EXPECT_THROW((void)stage.write_texts(test::writing_work(), {}, {.decoding = {.beam = 3}}, {}),
                 ShapeError);
  });
}

}  // namespace
}  // namespace penstock::runtime
