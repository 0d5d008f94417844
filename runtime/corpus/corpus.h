#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/data/cache_folder.h"
#include "runtime/data/loader.h"
#include "runtime/data/mixture.h"

namespace penstock::runtime {

class Tokenizer;

/// The utterances of a manifest, or of several, that take part, by id from 0 on. Paths and texts
/// stay in the manifest's index, which is mapped, and are read as they are asked for, by threads at
/// the same time.
struct Corpus {
  Lengths lengths;     // of the audio, exact
  AudioSources audio;  // where it lies
  /// Of ranks with a loss alone; empty elsewhere.
  std::function<std::string(std::uint64_t)> text;
  std::function<std::vector<std::int32_t>(std::uint64_t)> labels;  // of the text
  std::function<std::string(std::uint64_t)> where;                 // "train.jsonl:17"
  std::int64_t too_short = 0, too_long = 0;  // left out by data.min_seconds, max_seconds
  std::int64_t skipped = 0;                  // left out by data.bad_utterances = "skip"
  Mixture mixture = {};                      // of several manifests; see mixed_corpus()
  /// XXH3 of file names, segments, lengths and labels, in order: for checkpoints.
  std::uint64_t hash = 0;

  std::size_t size() const { return lengths.size(); }
  double seconds() const;
  /// How many utterances an epoch of training draws, to the nearest whole number.
  std::size_t draws() const { return mixture.draws(size()); }
  /// For people: "utterance 17", and of which manifest where there are several.
  std::string name(std::uint64_t id) const;
};

enum class CorpusUse {
  training,    // min_seconds and max_seconds hold; labels must fit at the fastest of data.speeds
  evaluation,  // everything, at speed 1
};

struct CorpusOptions {
  std::filesystem::path manifest;
  CacheFolder cache = {};    // for the manifest's index and what its labels need
  bool tells_unkept = true;  // as IndexOptions has it
  CorpusUse use = CorpusUse::training;
  configs::DataConfig data;
  configs::FeatureConfig features;
  int threads = 1;  // 0: as many as the process has cores
  /// What labels follow from besides texts, so that it is kept what they need; "": it is not.
  std::string labels_key = {};
  /// The recipe's [text], if the user may override it: then errors propose what fits.
  std::optional<configs::TextConfig> text = {};
  /// How the user can go on in spite of bad utterances; ends their list.
  std::string advice = "Correct them, or leave them out by data.bad_utterances = \"skip\".";
  /// Frames that reach the loss from so many frames of features.
  std::function<std::int64_t(std::int64_t)> output_frames;
};

/// Which ranks of a job read what of a corpus.
struct CorpusReaders {
  std::vector<int> texts = {0};  // the manifest: ranks with a loss
  std::vector<int> audio = {0};  // ranks of the first stage
};

/// The utterances of a manifest's index, see find_index(), which the first reader of texts finds
/// and, where it must, makes: all readers of audio measure for it. An utterance is bad if its line
/// or audio can't be used, its text has characters without a label, or its labels need more
/// frames than it has at the loss; one whose length is out of bounds is left out before its labels
/// are weighed against it. DataError lists all bad ones; under data.bad_utterances = "skip" they
/// are logged and counted instead. DataError if none is left, or if a reader of texts makes other
/// labels of them than the first; ConfigError if data.bad_utterances is neither refuse nor skip.
/// All ranks of `world` call it, and rank 0 raises what any has met. The tokenizer must outlive the
/// result.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&, comm::Communicator& world,
                                 const CorpusReaders&);

/// The same for a process alone.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&);

/// Frames that CTC needs for these labels: one for each, and a blank between equal neighbours.
std::int64_t ctc_frames(const std::vector<std::int32_t>& labels);

}  // namespace penstock::runtime
