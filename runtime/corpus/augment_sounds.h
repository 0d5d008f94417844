#pragma once

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/augment/sound_list.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Lists the recordings of augment.rooms and augment.noise. `reading` says how their manifests are
/// read, in addition to their names. All ranks of `world` call this together, and all throw if one
/// does.
///
/// Throws DataError, which names the key, if a manifest or one of its recordings can't be used, if
/// there is none, if a noise is shorter than 0.1 s, or if an impulse response is longer than 10 s.
/// Under data.bad_utterances = "skip", such recordings are logged and left out.
[[nodiscard]] AugmentSounds load_augment_sounds(const configs::AugmentConfig& augment,
                                                const CorpusOptions& reading,
                                                comm::Communicator& world,
                                                const CorpusReaders& readers);

/// Lists them in a process that runs alone.
[[nodiscard]] AugmentSounds load_augment_sounds(const configs::AugmentConfig& augment,
                                                const CorpusOptions& reading);

/// Loads the corpus of data.train and the recordings that augment it, in a process that runs alone.
/// Throws like load_corpus() and load_augment_sounds(). The tokenizer must outlive the result.
[[nodiscard]] Corpus load_augmented_corpus(const configs::Config& config,
                                           const partition::LayerSequence& sequence,
                                           const Tokenizer& tokenizer);

}  // namespace penstock::runtime
