#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/losses/loss.h"
#include "runtime/data/audio/loader.h"
#include "runtime/data/augment/sound_list.h"
#include "runtime/data/batch/mixture.h"
#include "runtime/data/index/cache_folder.h"

namespace penstock::runtime {

class RemoteFiles;
class Tokenizer;

/// One of several manifests in a corpus.
struct CorpusPart {
  std::string manifest;
  std::size_t utterances = 0;  // usable ones
};

/// Returns a name for people: "utterance 17", with the manifest's name if there are several. The
/// number counts within the manifest, from 0.
[[nodiscard]] std::string utterance_name(const std::vector<CorpusPart>& parts, std::uint64_t id);

/// The usable utterances of one or several manifests, by id from 0 on. Paths and texts stay in the
/// manifest's mapped index and are read on demand. Thread-safe.
struct Corpus {
  Lengths lengths;     // exact lengths of the audio
  AudioSources audio;  // location of the audio
  /// `text`, `labels` and `where` are set only on ranks that read texts.
  std::function<std::string(std::uint64_t)> text;
  std::function<std::vector<std::int32_t>(std::uint64_t)> labels;  // labels of the text
  std::function<std::string(std::uint64_t)> where;                 // "train.jsonl:17"
  /// Returns the number of an utterance's prompt, see Targets::prompts. Set on ranks that read
  /// texts, if the decoder has prompts of languages.
  std::function<std::int32_t(std::uint64_t)> prompt = {};
  std::int64_t too_short = 0, too_long = 0;  // left out by data.min_seconds and max_seconds
  std::int64_t skipped = 0;                  // left out by data.bad_utterances = "skip"
  std::int64_t most_labels = 0;              // maximum over the utterances
  std::int64_t all_labels = 0;               // sum over the utterances
  std::shared_ptr<RemoteFiles> files = {};   // opens audio that lies on servers
  AugmentSounds sounds = {};                 // of training, for its augmentation
  std::vector<CorpusPart> parts = {};        // set for several manifests, in the order of ids
  std::function<std::string(std::uint64_t)> named = {};  // set for a sample; see name()
  Mixture mixture = {};  // set for several to train on; see mixed_corpus()
  /// XXH3 of file names, segments, lengths, labels and prompts, in order. Checkpoints store it.
  std::uint64_t hash = 0;

  std::size_t size() const { return lengths.size(); }
  double seconds() const;
  /// Returns the mean number of labels in a second of audio; 0 without audio.
  double labels_per_second() const;
  /// Returns how many utterances an epoch of training draws, to the nearest whole number.
  std::size_t draws() const { return mixture.draws(size()); }
  /// Returns utterance_name(), for a sample that of the whole corpus.
  std::string name(std::uint64_t id) const { return named ? named(id) : utterance_name(parts, id); }
};

enum class CorpusUse {
  training,    // min_seconds and max_seconds apply; labels must fit at the fastest of data.speeds
  evaluation,  // all utterances, at speed 1
};

struct CorpusOptions {
  std::filesystem::path manifest;  // or a URL
  CacheFolder cache = {};          // for the manifest's index and the frames that its labels need
  std::shared_ptr<RemoteFiles> files = {};  // opens URLs
  bool warns_unkept = true;                 // as in IndexOptions
  bool texts = true;                        // as in IndexOptions; a corpus has them
  CorpusUse use = CorpusUse::training;
  configs::DataConfig data;
  configs::FeatureConfig features;
  int threads = 1;  // 0: one per core of the process
  /// decoder.languages: an utterance of another one is bad. Empty: languages are not looked at.
  std::vector<std::string> languages = {};
  /// Everything besides the texts that labels depend on. It is part of the key under which the
  /// frames that labels need are cached. "": they are not cached.
  std::string labels_key = {};
  /// The recipe's [text], if the user may override it. Errors then propose settings that fit.
  std::optional<configs::TextConfig> text = {};
  /// How the user can continue despite bad utterances. This text ends the list of them.
  std::string advice = "Correct them, or leave them out by data.bad_utterances = \"skip\".";
  layers::Loss loss = {};  // says how many frames labels need
  /// Returns the frames that reach the loss from this many feature frames.
  std::function<std::int64_t(std::int64_t)> output_frames;
  /// Returns true for a recording that is heard in parts, so that its text may have more labels
  /// than loss.most_labels. DataError or ShapeError if its parts do not fit. Empty: none is.
  std::function<bool(const AudioLength&)> heard_in_parts = {};
};

/// The ranks that read texts and audio of a corpus.
struct CorpusReaders {
  std::vector<int> texts = {0};  // they read the manifest
  std::vector<int> audio = {0};  // ranks of the first stage
};

/// Loads the usable utterances of a manifest. The first reader of texts finds its index (see
/// find_index()) or builds it; all readers of audio measure recordings for it.
///
/// An utterance is bad in these cases: its line or audio can't be used, its text has characters
/// without a label, its language has no prompt, or its labels need more frames than it has at the
/// loss. An utterance whose length is out of bounds is left out before its labels are compared with
/// its length. DataError lists all bad utterances; under data.bad_utterances = "skip" they are
/// logged and counted instead.
///
/// Throws DataError if no utterance is left, or if a reader of texts derives other labels than the
/// first one. Throws ConfigError if data.bad_utterances is neither "refuse" nor "skip". All ranks
/// of `world` call this together, and all throw if one does. The tokenizer must outlive the result.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&, comm::Communicator& world,
                                 const CorpusReaders&);

/// Loads a corpus in a process that runs alone.
[[nodiscard]] Corpus load_corpus(const CorpusOptions&, const Tokenizer&);

}  // namespace penstock::runtime
