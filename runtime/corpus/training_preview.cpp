#include "runtime/corpus/training_preview.h"

#include <algorithm>

#include "base/error.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/corpus/augment_sounds.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"

// An utterance is made twice: once plainly, at speed 1, and once as training makes it. The plain
// features are thrown away. So all that is shown comes out of UtteranceMaker, which the loaders of
// a training run, and no step of it is repeated here.

namespace penstock::runtime {
namespace {

configs::Config checked(const configs::Config& recipe) {
  check_features(recipe);
  check_end_of_text(recipe);
  check_training_manifest(recipe);
  return with_saved_tokenizer(recipe);
}

Corpus load(const configs::Config& config, const Tokenizer& tokenizer) {
  check_end_of_text(config, tokenizer);
  const partition::LayerSequence sequence =
      partition::build_trained_model(config, tokenizer.labels());
  return load_augmented_corpus(config, sequence, tokenizer);
}

/// Returns a recording's name for people.
std::string shown_name(const RemoteFiles* files, const std::filesystem::path& audio) {
  const std::string name = manifest_name(audio);
  return files != nullptr ? files->with_names(name) : name;
}

}  // namespace

TrainingPreview::TrainingPreview(const configs::Config& recipe, std::int64_t epoch)
    : config_(checked(recipe)),
      tokenizer_(make_tokenizer(config_.text)),
      vocabulary_(tokenizer_->vocabulary()),
      corpus_(load(config_, *tokenizer_)),
      number_(epoch),
      epoch_(corpus_.lengths, config_.data, config_.features, {config_.trainer.seed, epoch},
             corpus_.mixture),
      plain_(config_.features, std::nullopt),
      maker_(config_.features, training_augmentation(corpus_, config_)) {}

std::vector<std::uint64_t> TrainingPreview::chosen(std::uint64_t count) const {
  count = std::min(count, draws());
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(i * draws() / count);
  return numbers;
}

void TrainingPreview::make(UtteranceMaker& maker, const BatchUtterance& utterance,
                           std::vector<float>& x_FC) const try {
  const AudioSource source = corpus_.audio(utterance.id);
  const LocalFile local = open_by(corpus_.files.get(), source.audio);
  x_FC.assign(static_cast<std::size_t>(utterance.frames * feature_bins(config_.features)), 0.0f);
  maker.make(source, local.path, number_, utterance, x_FC);
} catch (const DataError& error) {
  if (!corpus_.files) throw;
  throw DataError(corpus_.files->with_names(error.what()));
}

PreviewedUtterance TrainingPreview::at(std::uint64_t number) {
  const BatchUtterance drawn = epoch_.drawn(number);
  const RemoteFiles* const files = corpus_.files.get();
  PreviewedUtterance result{.name = corpus_.name(drawn.id),
                            .where = corpus_.where(drawn.id),
                            .audio = shown_name(files, corpus_.audio(drawn.id).audio),
                            .text = corpus_.text(drawn.id),
                            .drawn = drawn};
  result.trained_text = tokenizer_->normalised(result.text);
  for (const std::int32_t label : corpus_.labels(drawn.id))
    result.labels.push_back(vocabulary_[static_cast<std::size_t>(label)].written);
  make(plain_, shape_utterance(drawn.id, corpus_.lengths[drawn.id], 1, config_.features),
       result.x_FC);
  result.recorded.assign(plain_.samples().begin(), plain_.samples().end());
  make(maker_, drawn, result.x_FC);
  result.heard.assign(maker_.samples().begin(), maker_.samples().end());
  result.effects = maker_.effects(number_, drawn);
  const AudioEffects& audio = result.effects.audio;
  if (audio.room) result.room = shown_name(corpus_.sounds.rooms.files.get(), audio.room->audio);
  if (audio.noise)
    result.noise = shown_name(corpus_.sounds.noises.files.get(), audio.noise->source.audio);
  return result;
}

}  // namespace penstock::runtime
