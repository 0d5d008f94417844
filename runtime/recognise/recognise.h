#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/corpus/corpora.h"
#include "runtime/decoding/ctc_decoding.h"
#include "runtime/recognise/audio_chunks.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// Texts whose words get their times, from CTC.
enum class TimedTexts { none, recognised, references };

/// A trained model, the ranks that it runs on, and overrides of its recipe.
struct Trained {
  std::filesystem::path checkpoint = {};  // a path or a URL, as for local_checkpoint()
  int threads = 1;                        // per rank
  std::string compute = {};               // number format of the layers; empty: the checkpoint's
  /// Families that the model may have.
  std::vector<layers::ModelFamily> families = layers::model_families();
  Verified verified = Verified::all;  // part of the checkpoint to verify
  std::string decoder = {};           // "ctc": that beside another one; empty: model.decoder
  std::string language = {};  // of decoder.languages: all utterances have its prompt; empty: each
                              // that of its own language
  int replicas = 1;           // each has ranks / replicas stages
  layers::DecodingOptions decoding = {};
  CtcDecoding ctc = {};  // for beams above 1 of CTC
  TimedTexts timed = TimedTexts::none;
  Chunking chunking = {};  // of recordings that are longer than a chunk
};

/// Says if there are reference texts to score against.
enum class Scoring { none, by_texts };

/// A checkpoint's model on the ranks of a job. Stages are cut by computed costs, because
/// recognition is too short for measuring to pay off.
class Recogniser {
 public:
  /// Opens the checkpoint. CheckpointError if a shard that is verified is damaged. ConfigError if
  /// the replicas do not divide the ranks, if there are more stages than layers, or if the model
  /// has no such decoder, no prompt of the language, no beam search, no such score, no times or no
  /// chunks, and as from CtcBeamDecoders and AudioChunks. All ranks construct one; `world` must
  /// outlive it.
  Recogniser(const Trained& trained, comm::Communicator& world, Scoring judging);

  comm::Communicator& world() const { return world_; }
  const configs::Config& config() const { return config_; }
  const partition::LayerSequence& sequence() const { return sequence_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const CorpusReaders& readers() const { return readers_; }
  /// Returns what makes decoders of CTC's beam search; null if texts are decoded otherwise.
  const CtcBeamDecoders* ctc_decoders() const { return ctc_decoders_ ? &*ctc_decoders_ : nullptr; }
  bool hears_in_parts() const { return chunking_.enabled(); }
  /// True for a recording that is heard in parts.
  [[nodiscard]] bool cuts(const AudioLength& length) const;
  /// Returns how many frames at the loss a recording of so many frames of features has at most, if
  /// it is heard in parts.
  [[nodiscard]] std::int64_t output_frames(std::int64_t frames) const;
  /// Throws ShapeError if the model can't hear a recording of such a length, though in parts, and
  /// DataError as from AudioChunks::cut() and resampling().
  void check_length(const AudioLength& length) const;
  bool times_words() const { return timed_ != TimedTexts::none; }
  std::int64_t step() const { return checkpoint_.state().step; }
  /// Returns a text that is equal for equal checkpoints that compute in the same number format and
  /// decode alike.
  std::string identity() const;

  /// Evaluates a corpus as runtime::evaluate() does, by options.decoder if that is set. The first
  /// call creates the stages, with buffers for utterances like its own, and the decoder. All ranks
  /// call it, with a corpus that is not empty.
  [[nodiscard]] Evaluation evaluate(const Corpus& corpus, EvaluationOptions options = {});

 private:
  void check_segments(const Trained& trained) const;
  std::int64_t frames_at_loss(const AudioLength& heard) const;
  AudioLength longest_segment(int rate) const;
  void make_session(const Lengths& lengths);
  Lengths heard_at_once(const Lengths& lengths) const;
  EvaluationOptions joined_options(EvaluationOptions options) const;

  comm::Communicator& world_;
  Scoring judging_;
  layers::DecodingOptions decoding_;
  std::string language_, ctc_identity_;
  TimedTexts timed_;
  Chunking chunking_;
  Checkpoint checkpoint_;
  configs::Config config_;
  bool by_ctc_;  // though the model has another decoder
  layers::Loss loss_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  partition::LayerSequence sequence_;
  CorpusReaders readers_;
  std::unique_ptr<Session> session_;
  WordTimer word_timer_;                         // empty for TimedTexts::none
  std::optional<CtcBeamDecoders> ctc_decoders_;  // empty if no beam searches for texts of CTC
  layers::Decoder decoder_;                      // made with the session
  std::optional<AudioChunks> chunks_;            // empty if no frames are joined
};

}  // namespace penstock::runtime
