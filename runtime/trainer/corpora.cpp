#include "runtime/trainer/corpora.h"

#include "comm/collectives.h"
#include "runtime/data/features.h"

namespace penstock {

Corpus load_in_turn(Communicator& world, const std::function<Corpus()>& load) {
  if (world.rank() == 0) {
    Corpus corpus = load();
    barrier(world);
    return corpus;
  }
  barrier(world);
  return load();
}

CorpusOptions corpus_options(const Config& config, const Chain& chain, const std::string& manifest,
                             CorpusUse use) {
  CorpusOptions options;
  options.manifest = manifest;
  options.output = config.trainer.output;
  options.use = use;
  options.data = config.data;
  options.features = config.features;
  options.threads = config.data.loaders;
  options.output_frames = [&chain](std::int64_t frames) {
    return output_frames(chain, std::vector<std::int64_t>{frames}).front();
  };
  return options;
}

Corpus load_corpus_for(const Config& config, const Chain& chain, const Alphabet& alphabet,
                       const std::string& manifest, CorpusUse use) {
  if (manifest.empty())
    throw ConfigError("data.train is not set: it takes a manifest of the training utterances");
  return load_corpus(corpus_options(config, chain, manifest, use), alphabet);
}

void check_features(const Config& config) {
  const int bins = feature_bins(config.features);
  if (bins == config.model.features) return;
  throw ConfigError(
      "[features] makes " + std::to_string(bins) + " channels a frame, but model.features = " +
      std::to_string(config.model.features) + ": set model.features = " + std::to_string(bins) +
      ", or change features.window_ms, features.fft or "
      "features.mels");
}

}  // namespace penstock
