#include "runtime/corpus/corpora.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "configs/flatten.h"
#include "configs/text_rules.h"
#include "partition/layout/layer_sequence.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/corpus/derived_corpus.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/data/remote/remote_url.h"

namespace penstock::runtime {
namespace {

/// Returns the keys on which labels, and the frames that they need, depend. The file text.model
/// counts by its bytes instead, see LabelNeeds.
std::string labels_key(const configs::Config& config) {
  std::string keys;
  for (const auto& [key, value] : configs::flatten(config))
    if ((key.starts_with("text.") && key != "text.model") || key == "model.decoder" ||
        key == "decoder.languages")
      keys += fmt::format("{}={}\n", key, value);
  return keys;
}

/// Returns the ranks of all stages, stage after stage.
std::vector<int> all_of(const std::vector<std::vector<int>>& ranks_of_stages) {
  std::vector<int> all;
  for (const std::vector<int>& ranks : ranks_of_stages)
    all.insert(all.end(), ranks.begin(), ranks.end());
  return all;
}

}  // namespace

CorpusOptions corpus_options(const configs::Config& config,
                             const partition::LayerSequence& sequence, const std::string& manifest,
                             CorpusUse use) {
  CorpusOptions options;
  options.manifest = manifest;
  options.cache = cache_folder(config.data.cache, config.data.cache_gib);
  const auto& train = config.data.train;  // only the corpus that is read first logs it
  options.warns_unkept =
      train.empty() || (use == CorpusUse::training && train.front().manifest == manifest);
  options.files = remote_files(config.data);
  options.use = use;
  options.data = config.data;
  options.text = config.text;
  options.features = config.features;
  options.threads = config.data.loaders > 1 ? config.data.loaders : 0;
  options.labels_key = labels_key(config);
  options.loss = config.model.loss();
  options.languages = config.model.networks.languages;
  options.output_frames = [known = std::make_shared<partition::OutputFrames>(sequence)](
                              std::int64_t frames) { return known->of(frames); };
  return options;
}

CorpusReaders corpus_readers(const configs::Config& config,
                             const partition::LayerSequence& sequence,
                             const partition::PlannedModel& model) {
  const configs::PipelineConfig& p = config.pipeline;
  const auto plans = partition::plan_without_frames(sequence, {});
  const bool everywhere = partition::first_label_reader(plans) + 1 < sequence.size() ||
                          std::ranges::any_of(plans, &layers::LayerPlan::auxiliary_loss);
  if (!p.plan.empty()) {
    const partition::Plan plan = partition::read_plan(p.plan, model);
    return {everywhere ? all_of(plan.ranks) : plan.ranks.at(plan.chunks.back().stage),
            plan.ranks.at(plan.chunks.front().stage)};
  }
  // Without a plan file, texts and audio are read before the plan is made, which needs their
  // lengths. So the placement of ranks and chunks is taken from the recipe and from the schedule's
  // name.
  const auto ranks = partition::neighbouring_stages(p.stages, p.replicas);
  const std::vector<int> stages =
      partition::is_schedule_file(p.schedule)
          ? partition::read_schedule_file(p.schedule, p.stages).chunk_rank
          : partition::chunk_ranks(p.schedule, p.stages);
  CorpusReaders readers{everywhere ? all_of(ranks) : ranks.at(stages.back()),
                        ranks.at(stages.front())};
  const bool may_turn = p.schedule == partition::kFound && p.stages > 1;
  if (may_turn && !everywhere)
    readers.texts.insert(readers.texts.end(), readers.audio.begin(), readers.audio.end());
  return readers;
}

void check_training_manifest(const configs::Config& config) {
  if (config.data.train.empty())
    throw ConfigError(
        "data.train is not set: it takes a manifest of the training utterances, or a list of them");
}

namespace {

/// Returns settings of [features] that yield this many channels, ready to paste. A mel kind stays:
/// it gets another number of mels or of stacked frames.
std::string features_with(int channels, const configs::FeatureConfig& now) {
  constexpr int kMaxMels = 128;  // the most that models on log-mel features use
  if (channels == 1) return "features.kind=waveform";
  if (now.kind != "spectrogram" && now.kind != "waveform") {
    if (channels % now.stack == 0 && channels / now.stack <= kMaxMels)
      return fmt::format("features.mels={}", channels / now.stack);
    if (channels % now.mels == 0) return fmt::format("features.stack={}", channels / now.mels);
  }
  if (channels <= kMaxMels) return fmt::format("features.kind=log-mel features.mels={}", channels);
  return fmt::format("features.kind=spectrogram features.fft={}", 2 * (channels - 1));
}

}  // namespace

void check_features(const configs::Config& config) {
  const int bins = feature_bins(config.features);
  if (bins == config.model.features) return;
  const int wanted = config.model.features;
  throw ConfigError(fmt::format(
      "[features] makes {} a frame, but model.features = {}: set {}, or model.features={}",
      counted(bins, "channel"), wanted, features_with(wanted, config.features), bins));
}

// Imported alphabets have characters of Unicode's private planes for tokens that are no text.
void check_end_of_text(const configs::Config& config) {
  if (config.text.kind != "alphabet" || !config.model.decoder_kind().reads("decoder.eos")) return;
  const std::u32string characters = configs::alphabet_characters(config.text);
  const auto eos = static_cast<std::size_t>(config.model.networks.eos);
  if (eos < 1 || eos > characters.size()) return;
  const char32_t character = characters[eos - 1];
  if ((character >= 0xE000 && character <= 0xF8FF) || character >= 0xF0000) return;
  const std::size_t labels = characters.size() + 1;
  throw ConfigError(fmt::format(
      "decoder.eos = {} is '{}' of text.alphabet, so texts would end there: set decoder.eos=0, or "
      "decoder.eos={} model.classes={}",
      eos, to_utf8(std::u32string_view(&character, 1)), labels, labels + 1));
}

void check_end_of_text(const configs::Config& config, const Tokenizer& tokenizer) {
  if (config.text.kind == "alphabet" || !config.model.decoder_kind().reads("decoder.eos")) return;
  const int eos = config.model.networks.eos;
  if (eos < 1 || eos >= tokenizer.labels()) return;
  const Label label = tokenizer.vocabulary()[static_cast<std::size_t>(eos)];
  if (label.text.empty()) return;
  throw ConfigError(
      fmt::format("decoder.eos = {} is the label '{}' of text.model, so texts would end there: set "
                  "decoder.eos=0, or the label of a special token{}",
                  eos, label.written,
                  config.text.kind == "bpe" ? ", which is its id in transformers and 1 more" : ""));
}

Corpus planned_corpus(const configs::Config& config, const partition::LayerSequence& sequence,
                      const Tokenizer& tokenizer, CorpusUse use) {
  const auto load = [&](const std::string& manifest) {
    return load_corpus(corpus_options(config, sequence, manifest, use), tokenizer);
  };
  return use == CorpusUse::training ? mixed_corpus(config.data, load)
                                    : joined_corpus(config.data.validation, load);
}

PlannedValidation planned_validation(const configs::Config& config,
                                     const partition::LayerSequence& sequence,
                                     const Tokenizer& tokenizer) {
  if (config.data.validation.empty()) return {};
  for (const auto& [manifest, weight, group] : config.data.validation)
    if (!is_remote_url(manifest) && !is_present(manifest))
      return {.not_counted = fmt::format("validation: the manifest {} is not here", manifest)};
  const Corpus corpus = planned_corpus(config, sequence, tokenizer, CorpusUse::evaluation);
  return {corpus.lengths, corpus.most_labels};
}

}  // namespace penstock::runtime
