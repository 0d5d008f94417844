#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/audio/utterance_maker.h"
#include "runtime/data/batch/epoch.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// An utterance as the first stage gets it in one epoch, and how it came to be so. Samples are at
/// features.sample_rate.
struct PreviewedUtterance {
  std::string name;                      // "utterance 17"
  std::string where;                     // "train.jsonl:18"
  std::string audio;                     // path or URL of the recording
  std::string text;                      // as the manifest has it
  std::string trained_text = {};         // the text that the labels mean
  std::vector<std::string> labels = {};  // as the vocabulary writes them
  BatchUtterance drawn = {};             // with its speed
  std::vector<float> recorded = {};      // at speed 1, without augmentation
  std::vector<float> heard = {};         // what the features are made of
  std::vector<float> x_FC = {};          // drawn.frames × feature_bins(), after SpecAugment
  UtteranceEffects effects = {};
  std::string room = {}, noise = {};  // names of the recordings in `effects`; "": none
};

/// Makes utterances of an epoch of a recipe's training by the functions that its loader calls, with
/// the same random numbers. At most one utterance is in memory. Not thread-safe.
class TrainingPreview {
 public:
  /// Loads the corpus and forms the epoch. Throws ConfigError and DataError like a training, for
  /// what the recipe says of model, features, text and data, and CheckpointError if it would resume
  /// from a checkpoint that can't be read.
  TrainingPreview(const configs::Config& recipe, std::int64_t epoch);

  /// Returns how many utterances the epoch draws.
  std::uint64_t draws() const { return epoch_.draws(); }

  /// Returns the numbers of `count` draws for at(), evenly spaced, or of all if there are no more.
  /// They are the same for every epoch, unless several manifests are mixed.
  [[nodiscard]] std::vector<std::uint64_t> chosen(std::uint64_t count) const;

  /// Makes the utterance of one draw. Throws DataError if its recording can't be read; training
  /// would log this message and leave the utterance out as silence.
  [[nodiscard]] PreviewedUtterance at(std::uint64_t number);

 private:
  void make(UtteranceMaker& maker, const BatchUtterance& utterance, std::vector<float>& x_FC) const;

  configs::Config config_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::vector<Label> vocabulary_;
  Corpus corpus_;
  std::int64_t number_;  // of the epoch
  Epoch epoch_;
  UtteranceMaker plain_, maker_;
};

}  // namespace penstock::runtime
