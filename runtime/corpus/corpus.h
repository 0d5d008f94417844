#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/data/audio.h"
#include "runtime/data/manifest.h"

namespace penstock::runtime {

class Tokenizer;

/// The utterances of a manifest that take part. Utterance id is place `id` of every vector. Only
/// ranks with a loss have texts and labels.
struct Corpus {
  std::vector<ManifestEntry> entries;
  std::vector<AudioLength> lengths;                // of the audio, exact
  std::vector<std::optional<std::int64_t>> first;  // sample at which it begins, of a segment
  std::vector<std::vector<std::int32_t>> labels;   // of the text
  std::vector<std::int64_t> frames;                // of features, at speed 1
  std::int64_t too_short = 0, too_long = 0;        // left out by data.min_seconds, max_seconds
  std::int64_t skipped = 0;                        // left out by data.bad_utterances = "skip"
  /// XXH3 of file names, segments, lengths and labels, in order: for checkpoints.
  std::uint64_t hash = 0;

  double seconds() const;
};

enum class CorpusUse {
  training,    // min_seconds and max_seconds hold; labels must fit at the fastest of data.speeds
  evaluation,  // everything, at speed 1
};

struct CorpusOptions {
  std::filesystem::path manifest;
  std::filesystem::path output;  // folder of the run, where the index is cached if it must
  CorpusUse use = CorpusUse::training;
  configs::DataConfig data;
  configs::FeatureConfig features;
  int threads = 1;
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

/// Reads the manifest, the texts, and (by index_audio) the lengths. An utterance is bad if its line
/// or audio can't be used, its text has characters without a label, or its labels need more
/// frames than it has at the loss; one whose length is out of bounds is left out before its labels
/// are weighed against it. DataError lists all bad ones; under data.bad_utterances = "skip" they
/// are logged and counted instead. DataError if none is left, or if a reader's files say something
/// else than the first reader's; ConfigError if data.bad_utterances is neither refuse nor skip. All
/// ranks of `world` call it; the first reader tells the others what it has found, and rank 0 raises
/// what any has met.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&, comm::Communicator& world,
                                 const CorpusReaders&);

/// The same for a process alone.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&);

/// Frames that CTC needs for these labels: one for each, and a blank between equal neighbours.
std::int64_t ctc_frames(const std::vector<std::int32_t>& labels);

}  // namespace penstock::runtime
