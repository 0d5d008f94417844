#include "runtime/pipeline/text_generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
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
/// attention decoder, or one with learned positions beside CTC. "short" is the last one with
/// positions for three labels.
partition::LayerSequence make_sequence(const std::string& decoder, int beam = 1) {
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
  partition::LayerSequence sequence = partition::build_model(model, kClasses);
  sequence.beam = beam;
  return sequence;
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
  layers::DecodingOptions decoding = {};
  std::vector<std::int32_t> suppress = {}, begin_suppress = {};

  layers::TextWriting writing() const {
    const bool beside_ctc = decoder == "learned" || decoder == "short";
    return {.eos = eos,
            .ctc_weight = beside_ctc ? 0.3 : 0,
            .suppress = suppress,
            .begin_suppress = begin_suppress,
            .decoding = decoding};
  }
  /// Returns the classes that are left out after a text of so many labels.
  std::vector<std::int32_t> left_out(std::size_t labels) const {
    std::vector<std::int32_t> classes = suppress;
    if (labels == 0) classes.insert(classes.end(), begin_suppress.begin(), begin_suppress.end());
    return classes;
  }
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

using TextsOf = std::map<std::uint64_t, TextGeneration::Texts>;  // by utterance

/// Returns all texts that are found of each utterance.
TextsOf find_texts(const Layout& layout) {
  const partition::LayerSequence sequence = make_sequence(layout.decoder, layout.decoding.beam);
  TextsOf texts;
  comm::run_as_threads({.ranks = layout.stages}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream([&] { world.progress(); });
    Stage stage(*backend, *stream, world, sequence, make_options(sequence, layout, world.rank()));
    ExecutorCallbacks callbacks;
    callbacks.read_features = noise_from(0);
    (void)stage.write_texts(make_work(), callbacks, layout.writing(),
                            [&](const MicroBatchWork& m, std::vector<TextGeneration::Texts> found) {
                              for (std::size_t u = 0; u < found.size(); ++u)
                                texts[m.utterances[u]] = found[u];
                            });
  });
  return texts;
}

/// Returns the best text of each utterance.
std::map<std::uint64_t, Labels> write_texts(const Layout& layout) {
  std::map<std::uint64_t, Labels> best;
  for (const auto& [id, found] : find_texts(layout)) best[id] = found.front().labels;
  return best;
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

/// The rows that predict the labels of texts and their ends, and CTC's logits.
struct Scored {
  std::vector<std::vector<float>> rows, logits;  // of each utterance
};

/// Runs a micro-batch with these texts.
Scored score(Stage& stage, MicroBatchWork m, const std::vector<Labels>& texts) {
  const int number = m.place;
  m.place = 0;
  for (std::size_t u = 0; u < texts.size(); ++u) {
    m.labels.insert(m.labels.end(), texts[u].begin(), texts[u].end());
    m.label_lengths[u] = static_cast<std::int32_t>(texts[u].size());
  }
  StepWork work;
  work.global_micro_batches = 1;
  work.micro_batches = {m};
  Scored scored;
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
                                            const MicroBatchWork& m, const Layout& layout) {
  const layers::TextWriting writing = layout.writing();
  const Scored scored = score(stage, m, std::vector<Labels>(m.lengths.size()));
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
            ? std::make_shared<layers::CtcPrefixScore>(scored.logits[u], kClasses)
            : nullptr);
  return searches;
}

/// Searches without caches: the classes after a hypothesis follow from a pass over all its rows.
std::vector<Labels> search_by_whole_passes(Stage& stage, const partition::LayerSequence& sequence,
                                           const MicroBatchWork& m, const Layout& layout) {
  const auto head = stage.last_parameters();
  std::vector<layers::TextBeam> searches = make_searches(stage, sequence, m, layout);
  const auto beam = static_cast<std::size_t>(layout.decoding.beam);
  std::vector<std::vector<Labels>> slots(searches.size(), std::vector<Labels>(beam));
  for (bool first = true; !std::ranges::all_of(searches, &layers::TextBeam::ended); first = false) {
    std::vector<std::vector<std::vector<layers::ScoredClass>>> classes(searches.size());
    for (std::size_t n = 0; n < (first ? 1 : beam); ++n) {
      std::vector<Labels> texts;
      for (const auto& of_utterance : slots) texts.push_back(of_utterance[n]);
      const Scored scored = score(stage, m, texts);
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
  const partition::LayerSequence sequence = make_sequence(decoder);
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, make_options(sequence, {decoder}, 0));
    check(stage, sequence);
  });
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

TEST_P(TextGenerationBy, SearchesAsWholePassesDo) {
  with_stage(GetParam(), [&](Stage& stage, const partition::LayerSequence& sequence) {
    const StepWork work = make_work();
    int other = 0;
    for (std::int32_t eos = 0; eos < kClasses; ++eos) {
      const auto greedy = write_texts({.decoder = GetParam(), .eos = eos});
      const Layout layout{.decoder = GetParam(),
                          .eos = eos,
                          .decoding = {.beam = 3, .length_penalty = eos % 2 == 0 ? 0 : 1.5}};
      const auto texts = write_texts(layout);
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

TEST_P(TextGenerationBy, LeavesOutSuppressedClasses) {
  with_stage(GetParam(), [&](Stage& stage, const partition::LayerSequence& sequence) {
    int other = 0, later = 0;
    for (const int beam : {1, 3}) {
      const Layout layout{.decoder = GetParam(),
                          .decoding = {.beam = beam},
                          .suppress = {3, 0},
                          .begin_suppress = {2, 1}};
      const auto texts = write_texts(layout),
                 free = write_texts({.decoder = GetParam(), .decoding = {.beam = beam}});
      for (const MicroBatchWork& m : make_work().micro_batches) {
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

/// Compares the texts that are found on several stages, and their scores, with those of one.
void expect_the_same_on_any_stages(const std::string& decoder,
                                   const layers::DecodingOptions& decoding) {
  const partition::LayerSequence sequence = make_sequence(decoder);
  const int layers = sequence.size();
  const int text = partition::first_label_reader(partition::plan_without_frames(sequence, {}));
  for (const DType compute : {DType::f32, DType::bf16}) {
    const TextsOf alone =
        find_texts({.decoder = decoder, .compute = compute, .decoding = decoding});
    ASSERT_EQ(alone.size(), 11u);
    for (const auto& [id, found] : alone)
      EXPECT_EQ(found.size(), static_cast<std::size_t>(decoding.beam)) << "utterance " << id;
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
      layout.decoding = decoding;
      EXPECT_EQ(find_texts(layout), alone)
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

/// Returns the scores of all texts of up to three labels, of the only utterance of a micro-batch.
std::map<Labels, double> scores_of_all(Stage& stage, const MicroBatchWork& m,
                                       const Layout& layout) {
  const auto head = stage.last_parameters();
  const double weight = layout.writing().scored_ctc_weight();
  const layers::CtcPrefixScore ctc(score(stage, m, {{}}).logits[0], kClasses);
  std::vector<Labels> texts = {{}};
  std::map<Labels, double> scores;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Labels text = texts[i];
    const std::vector<float> rows = score(stage, m, {text}).rows[0];
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
    for (std::int32_t label = 1; label < kClasses && whole; ++label) {
      if (label == layout.eos) continue;
      texts.push_back(text);
      texts.back().push_back(label);
    }
  }
  return scores;
}

// Texts of the class 0, which CTC does not know, are impossible.
TEST(TextGeneration, FindsTheBestOfAllTexts) {
  with_stage("short", [&](Stage& stage, const partition::LayerSequence&) {
    const StepWork work = make_work();
    for (const std::int32_t eos : {1, 2, 3})
      for (const double penalty : {0.0, 1.0}) {
        const Layout layout{
            .decoder = "short", .eos = eos, .decoding = {.beam = 90, .length_penalty = penalty}};
        const TextsOf texts = find_texts(layout);
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

TEST(TextGeneration, RefusesABeamWithoutRoom) {
  const partition::LayerSequence sequence = make_sequence("lm", 2);
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    Stage stage(*backend, *stream, world, sequence, make_options(sequence, {}, 0));
    EXPECT_THROW((void)stage.write_texts(make_work(), {}, {.decoding = {.beam = 3}}, {}),
                 ShapeError);
  });
}

}  // namespace
}  // namespace penstock::runtime
