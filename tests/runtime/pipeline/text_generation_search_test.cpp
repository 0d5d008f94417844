#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "comm/threads.h"
#include "layers/losses/ctc_prefix_score.h"
#include "layers/losses/text_beam.h"
#include "partition/layout/build_model.h"
#include "runtime/pipeline/stage.h"
#include "runtime/pipeline/text_generation.h"
#include "tests/support/runtime/written_texts.h"

namespace penstock::runtime {
namespace {

using test::Labels;

// A search equals one without caches, and finds the best of all texts.

/// Returns the logits after one of the last rows; the last one is 0 from the end.
std::vector<float> logits_of(const std::vector<float>& rows, std::size_t from_end,
                             const std::vector<layers::HostParameter>& head) {
  const layers::HostParameter& head_VW = head.back();
  const auto width = static_cast<std::size_t>(head_VW.shape[1]);
  const float* row = rows.data() + rows.size() - (from_end + 1) * width;
  std::vector<float> logits;
  for (std::size_t v = 0; v < static_cast<std::size_t>(head_VW.shape[0]); ++v)
    logits.push_back(std::inner_product(row, row + width, head_VW.values.data() + v * width,
                                        head.size() > 1 ? head.front().values[v] : 0.0f));
  return logits;
}

/// A search that a layout asks for, with the limits of each utterance.
std::vector<layers::TextBeam> make_searches(Stage& stage, const partition::LayerSequence& sequence,
                                            const MicroBatchWork& m,
                                            const test::WritingLayout& layout) {
  const layers::TextWriting writing = layout.writing();
  const test::ScoredRows scored =
      test::score_texts(stage, m, std::vector<Labels>(m.lengths.size()));
  const auto most =
      partition::most_written(partition::activation_before_text(sequence, m.lengths, {}));
  std::vector<layers::TextBeam> searches;
  for (std::size_t u = 0; u < most.size(); ++u)
    searches.emplace_back(
        layers::TextBeamOptions{.beam = writing.decoding.beam,
                                .length_penalty = writing.decoding.length_penalty.value_or(1),
                                .ctc_weight = writing.scored_ctc_weight(),
                                .eos = writing.eos,
                                .most = most[u]},
        writing.ctc_weight > 0
            ? std::make_shared<layers::CtcPrefixScore>(scored.logits[u], test::kTextClasses)
            : nullptr);
  return searches;
}

/// Searches without caches: the classes after a hypothesis follow from a pass over all its rows.
std::vector<Labels> search_by_whole_passes(Stage& stage, const partition::LayerSequence& sequence,
                                           const MicroBatchWork& m,
                                           const test::WritingLayout& layout) {
  const auto head = stage.last_parameters();
  std::vector<layers::TextBeam> searches = make_searches(stage, sequence, m, layout);
  const auto beam = static_cast<std::size_t>(layout.decoding.beam);
  std::vector<std::vector<Labels>> slots(searches.size(), std::vector<Labels>(beam));
  for (bool first = true; !std::ranges::all_of(searches, &layers::TextBeam::ended); first = false) {
    std::vector<std::vector<std::vector<layers::ScoredClass>>> classes(searches.size());
    for (std::size_t n = 0; n < (first ? 1 : beam); ++n) {
      std::vector<Labels> texts;
      for (const auto& of_utterance : slots) texts.push_back(of_utterance[n]);
      const test::ScoredRows scored = test::score_texts(stage, m, texts);
      for (std::size_t u = 0; u < searches.size(); ++u)
        if (first || searches[u].steps()[n].goes_on())
          classes[u].push_back(layers::likeliest_classes(logits_of(scored.rows[u], 0, head),
                                                         searches[u].classes_of_row(),
                                                         layout.left_out(texts[u].size())));
    }
    for (std::size_t u = 0; u < searches.size(); ++u) {
      if (searches[u].ended()) continue;
      searches[u].choose(classes[u]);
      const std::vector<Labels> before = slots[u];
      for (std::size_t n = 0; n < beam; ++n) {
        const layers::TextStep& step = searches[u].steps()[n];
        if (!step.goes_on()) continue;
        slots[u][n] = before[static_cast<std::size_t>(step.parent)];
        slots[u][n].push_back(step.label);
      }
    }
  }
  std::vector<Labels> texts;
  for (const layers::TextBeam& search : searches) texts.push_back(search.hypotheses()[0].labels);
  return texts;
}

/// Runs `check` with a stage that holds a whole model.
template <class Check>
void with_stage(const std::string& decoder, Check check) {
  const partition::LayerSequence sequence = test::writing_sequence(decoder);
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, test::writing_stage(sequence, {decoder}, 0));
    check(stage, sequence);
  });
}

class TextSearchBy : public testing::TestWithParam<const char*> {};

TEST_P(TextSearchBy, SearchesAsWholePassesDo) {
  with_stage(GetParam(), [&](Stage& stage, const partition::LayerSequence& sequence) {
    const StepWork work = test::writing_work();
    int other = 0;
    for (std::int32_t eos = 0; eos < test::kTextClasses; ++eos) {
      const auto greedy = test::write_texts({.decoder = GetParam(), .eos = eos});
      const test::WritingLayout layout{
          .decoder = GetParam(),
          .eos = eos,
          .decoding = {.beam = 3, .length_penalty = eos % 2 == 0 ? 0 : 1.5}};
      const auto texts = test::write_texts(layout);
      for (const MicroBatchWork& m : work.micro_batches) {
        const auto whole = search_by_whole_passes(stage, sequence, m, layout);
        for (std::size_t u = 0; u < whole.size(); ++u)
          EXPECT_EQ(texts.at(m.utterances[u]), whole[u]) << "utterance " << m.utterances[u];
      }
      for (const auto& [id, text] : texts) other += text != greedy.at(id) ? 1 : 0;
    }
    EXPECT_GT(other, 10);
  });
}

TEST_P(TextSearchBy, LeavesOutSuppressedClasses) {
  with_stage(GetParam(), [&](Stage& stage, const partition::LayerSequence& sequence) {
    int other = 0, later = 0;
    for (const int beam : {1, 3}) {
      const test::WritingLayout layout{.decoder = GetParam(),
                                       .decoding = {.beam = beam},
                                       .suppress = {3, 0},
                                       .begin_suppress = {2, 1}};
      const auto texts = test::write_texts(layout),
                 free = test::write_texts({.decoder = GetParam(), .decoding = {.beam = beam}});
      for (const MicroBatchWork& m : test::writing_work().micro_batches) {
        const auto whole = search_by_whole_passes(stage, sequence, m, layout);
        const auto most =
            partition::most_written(partition::activation_before_text(sequence, m.lengths, {}));
        for (std::size_t u = 0; u < whole.size(); ++u) {
          const Labels& text = texts.at(m.utterances[u]);
          EXPECT_EQ(text, whole[u]) << "utterance " << m.utterances[u];
          ASSERT_FALSE(text.empty());  // eos begins none
          EXPECT_NE(text.front(), 1);
          EXPECT_EQ(std::ranges::count(text, 3) + std::ranges::count(text, 0), 0);
          other += text != free.at(m.utterances[u]) ? 1 : 0;
          later += std::ranges::count(text, 1) > 0 || std::ssize(text) < most[u] ? 1 : 0;
        }
      }
    }
    EXPECT_GT(other, 10);
    EXPECT_GT(later, 0);  // what begins no text is in some
  });
}

INSTANTIATE_TEST_SUITE_P(Decoders, TextSearchBy,
                         testing::Values("lm", "qwen3", "attention", "learned"),
                         [](const auto& info) { return std::string(info.param); });

/// Returns the scores of all texts of up to three labels, of the only utterance of a micro-batch.
std::map<Labels, double> scores_of_all(Stage& stage, const MicroBatchWork& m,
                                       const test::WritingLayout& layout) {
  const auto head = stage.last_parameters();
  const double weight = layout.writing().scored_ctc_weight();
  const layers::CtcPrefixScore ctc(test::score_texts(stage, m, {{}}).logits[0], test::kTextClasses);
  std::vector<Labels> texts = {{}};
  std::map<Labels, double> scores;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Labels text = texts[i];
    const std::vector<float> rows = test::score_texts(stage, m, {text}).rows[0];
    double sum = 0;
    layers::CtcPrefixScore::Prefix prefix = ctc.empty();
    const bool whole = text.size() < 3;
    for (std::size_t j = 0; j < text.size() + (whole ? 1 : 0); ++j) {
      const std::vector<float> logits = logits_of(rows, text.size() - j, head);
      double all = 0;
      for (const float logit : logits) all += std::exp(static_cast<double>(logit));
      const std::int32_t next = j < text.size() ? text[j] : layout.eos;
      sum += logits[static_cast<std::size_t>(next)] - std::log(all);
      if (j < text.size()) prefix = ctc.extended(prefix, next);
    }
    const double length = static_cast<double>(text.size()) + (whole ? 1 : 0);
    scores[text] =
        ((1 - weight) * sum + weight * (whole ? ctc.whole(prefix) : prefix.log_probability)) /
        std::pow(length, layout.decoding.length_penalty.value_or(1));
    for (std::int32_t label = 1; label < test::kTextClasses && whole; ++label) {
      if (label == layout.eos) continue;
      texts.push_back(text);
      texts.back().push_back(label);
    }
  }
  return scores;
}

// Texts of the class 0, which CTC does not know, are impossible.
TEST(TextSearch, FindsTheBestOfAllTexts) {
  with_stage("short", [&](Stage& stage, const partition::LayerSequence&) {
    const StepWork work = test::writing_work();
    for (const std::int32_t eos : {1, 2, 3})
      for (const double penalty : {0.0, 1.0}) {
        const test::WritingLayout layout{
            .decoder = "short", .eos = eos, .decoding = {.beam = 90, .length_penalty = penalty}};
        const test::TextsOf texts = test::find_texts(layout);
        for (const std::size_t alone : {1, 4}) {
          const MicroBatchWork& m = work.micro_batches[alone];
          const auto scores = scores_of_all(stage, m, layout);
          EXPECT_EQ(scores.size(), 40u);
          const auto best =
              std::ranges::max_element(scores, {}, &std::pair<const Labels, double>::second);
          const TextGeneration::Texts& found = texts.at(m.utterances[0]);
          EXPECT_EQ(found.front().labels, best->first);
          for (const auto& [labels, score] : found)
            EXPECT_NEAR(score, scores.at(labels), 1e-5) << testing::PrintToString(labels);
        }
      }
  });
}

}  // namespace
}  // namespace penstock::runtime
