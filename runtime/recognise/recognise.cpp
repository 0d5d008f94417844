#include "runtime/recognise/recognise.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quantities.h"
#include "configs/flatten.h"
#include "layers/losses/ctc.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/data/audio/quiet_cuts.h"
#include "runtime/data/batch/batching.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/planning/planning.h"
#include "runtime/recognise/evaluate_chunks.h"
#include "runtime/recognise/evaluate_segments.h"
#include "runtime/recognise/frame_shift.h"
#include "runtime/trainer/saving.h"

// Recognition reuses the machinery of training with an adapted recipe: the checkpoint's model,
// features and text, but stages and replicas of this job, without recomputation, sharding or a plan
// file. All parameters are frozen, so no gradient sums are allocated. The session is made for the
// first corpus, because buffers follow from its utterances, and is kept for later ones.

namespace penstock::runtime {
namespace {

/// Returns the checkpoint's recipe for this job. Its output is the checkpoint's folder, since the
/// training's output folder may have moved.
configs::Config config_for(const Checkpoint& checkpoint, const Trained& trained, int ranks) {
  configs::Config config =
      configs::unflatten(checkpoint.state().config, checkpoint.folder().string(), trained.families);
  if (const auto tokenizer = checkpoint.tokenizer_file(); !tokenizer.empty())
    config.text.model = tokenizer.string();  // the recipe's file may have moved or changed
  config.pipeline = {};
  config.pipeline.stages = ranks / trained.replicas;
  config.pipeline.replicas = trained.replicas;
  config.data.micro_batches = std::max(config.data.micro_batches, trained.replicas);
  config.trainer.lanes = trained.replicas;
  config.trainer.threads = trained.threads;
  // CTC reads no prompt.
  if (trained.decoder == "ctc") {
    config.model.networks.languages.clear();
    config.model.networks.prompts.clear();
  }
  if (!trained.language.empty()) choose_language(config.model.networks, trained.language);
  if (!trained.compute.empty()) config.precision.compute = trained.compute;
  config.trainer.output = checkpoint.folder().string();
  return config;
}

void check_replicas(const comm::Communicator& world, int replicas) {
  if (world.size() % replicas == 0) return;
  throw ConfigError(fmt::format(
      "the job has {}, which {} can't share equally: start it with mpirun -np and a multiple of "
      "{}, or change --replicas",
      counted(world.size(), "rank"), counted(replicas, "replica"), replicas));
}

/// Throws ConfigError if times are asked for that the model's decoder does not know.
void check_timed(const std::string& own, const Trained& trained, bool ctc_beside) {
  const bool by_ctc = own == "ctc" ? trained.decoder.empty() || trained.decoder == own
                                   : ctc_beside && trained.decoder == "ctc";
  if (trained.timed == TimedTexts::none || by_ctc) return;
  throw ConfigError(fmt::format("{}: its decoder is {}, and times of words are CTC's alone: {}",
                                trained.checkpoint.string(), own,
                                ctc_beside
                                    ? "add --decoder ctc"
                                    : "take a model of model.decoder = \"ctc\", or train one with "
                                      "decoder.ctc_weight=0.3"));
}

/// Returns the loss of the checkpoint's model, with the decoder that was asked for.
layers::Loss loss_for(const configs::Config& config, const Trained& trained) {
  layers::Loss loss = config.model.loss();
  const std::string& own = config.model.decoder;
  if (trained.decoder.empty() || trained.decoder == own || trained.decoder == "ctc")
    check_timed(own, trained, loss.make_ctc_decoder != nullptr);
  if (trained.decoder.empty() || trained.decoder == own) return loss;
  const bool has_ctc = loss.make_ctc_decoder != nullptr;
  if (trained.decoder != "ctc" || !has_ctc)
    throw ConfigError(fmt::format(
        "{}: its model has no decoder {}: it decodes by {} (model.decoder){}. Leave out --decoder",
        trained.checkpoint.string(), trained.decoder, own,
        has_ctc ? ", or by ctc (decoder.ctc_weight)"
                : ", and decoder.ctc_weight trained no CTC beside it"));
  loss.make_decoder = [make = loss.make_ctc_decoder](const auto&, const auto&) { return make(); };
  loss.beam_search = false;
  loss.writing.reset();
  return loss;
}

Checkpoint open_for(const Trained& trained, comm::Communicator& world) {
  check_replicas(world, trained.replicas);
  return open_together(world, trained.checkpoint, {.verified = trained.verified});
}

/// Throws ConfigError if there are more stages than layers.
void check_stages(const comm::Communicator& world, const configs::PipelineConfig& pipeline,
                  const partition::LayerSequence& sequence) {
  if (pipeline.stages <= sequence.size()) return;
  const std::string stages =
      pipeline.replicas == 1 ? "each a stage"
                             : fmt::format("{} for each of {} replicas",
                                           counted(pipeline.stages, "stage"), pipeline.replicas);
  throw ConfigError(fmt::format(
      "the job has {}, {}, but the checkpoint's model has only {}: start it with mpirun -np {} or "
      "fewer, or with more --replicas",
      counted(world.size(), "rank"), stages, counted(sequence.size(), "layer"),
      sequence.size() * pipeline.replicas));
}

/// Throws ConfigError if a score is asked for that the decoder does not know.
void check_scores(const std::string& checkpoint, const std::string& decoder,
                  const layers::DecodingOptions& decoding, const layers::Loss& loss) {
  const std::string option = decoding.ctc_weight ? "--ctc-weight" : "--length-penalty";
  if (!decoding.ctc_weight && !decoding.length_penalty) return;
  if (!loss.writing)
    throw ConfigError(fmt::format("{}: its decoder is {}, which writes no texts: leave out {}",
                                  checkpoint, decoder, option));
  if (decoding.beam == 1)
    throw ConfigError(
        fmt::format("{}: greedy decoding compares no texts: leave out {}, or give --beam 2 or more",
                    checkpoint, option));
  if (decoding.ctc_weight.value_or(0) > 0 && loss.writing->ctc_weight == 0)
    throw ConfigError(fmt::format(
        "{}: decoder.ctc_weight trained no CTC beside its decoder {}: leave out --ctc-weight",
        checkpoint, decoder));
}

/// Throws ConfigError if more texts are asked for than a search keeps.
void check_nbest(const std::string& checkpoint, const layers::DecodingOptions& decoding) {
  if (decoding.nbest == 0) return;
  if (decoding.beam == 1)
    throw ConfigError(fmt::format(
        "{}: greedy decoding finds one text, without a score: leave out --nbest, or give --beam {}",
        checkpoint, std::max(decoding.nbest, 2)));
  if (decoding.nbest > decoding.beam)
    throw ConfigError(
        fmt::format("{}: --nbest {} asks for more texts than --beam {} keeps: give --beam {}, or "
                    "fewer texts",
                    checkpoint, decoding.nbest, decoding.beam, decoding.nbest));
}

/// Throws ConfigError if the loss can't be decoded so.
void check_decoding(const Trained& trained, const configs::Config& config,
                    const layers::Loss& loss) {
  const std::string& decoder = trained.decoder.empty() ? config.model.decoder : trained.decoder;
  check_scores(trained.checkpoint.string(), decoder, trained.decoding, loss);
  check_nbest(trained.checkpoint.string(), trained.decoding);
  const bool ctc = decoder == "ctc";
  if (const std::string option = trained.ctc.first_option(); !option.empty()) {
    if (!ctc)
      throw ConfigError(fmt::format("{}: its decoder is {}, and {} is for CTC: leave it out",
                                    trained.checkpoint.string(), decoder, option));
    if (trained.decoding.beam == 1)
      throw ConfigError(
          fmt::format("{}: {} is for a beam search: leave it out, or give --beam 2 or more",
                      trained.checkpoint.string(), option));
  }
  if (trained.decoding.beam == 1 || ctc || loss.beam_search) return;
  throw ConfigError(
      fmt::format("{}: its decoder is {}, which has no beam search: leave out --beam {}",
                  trained.checkpoint.string(), decoder, trained.decoding.beam));
}

/// Returns the channel at which the logits of CTC begin. The frames of a transducer with CTC beside
/// have the channels of the joint network first.
std::int64_t first_ctc_channel(const configs::Config& config) {
  const bool transducer = config.model.decoder != "ctc" && !config.model.loss().writing;
  return transducer ? config.model.networks.joint : 0;
}

/// Returns the timer of words, if times are asked for.
WordTimer word_timer_for(const Trained& trained, const configs::Config& config,
                         const partition::LayerSequence& sequence, const Tokenizer& tokenizer) {
  if (trained.timed == TimedTexts::none) return nullptr;
  return ctc_word_timer(tokenizer,
                        {frame_shift(sequence, config.features), first_ctc_channel(config)});
}

/// True if frames of chunks can be joined: they are CTC's, equally far apart.
bool joins_frames(const Trained& trained, const configs::Config& config,
                  const partition::LayerSequence& sequence) {
  const std::string& decoder = trained.decoder.empty() ? config.model.decoder : trained.decoder;
  return decoder == "ctc" && partition::plan_without_frames(sequence, {}).front().chunk == 0;
}

/// True if the beam search of CTC is asked for.
bool searches_ctc(const Trained& trained, const configs::Config& config) {
  const bool beside = trained.decoder == "ctc" && config.model.decoder != "ctc";
  return trained.decoding.beam > 1 && (beside || config.model.decoder == "ctc");
}

/// Returns what of the decoding changes results, as the end of an identity. Options that are left
/// out count with their defaults.
std::string identity_of(const layers::DecodingOptions& decoding, const layers::Loss& loss) {
  if (decoding.beam == 1) return {};
  std::string identity = fmt::format(", beam {}", decoding.beam);
  if (loss.writing)
    identity += fmt::format(", length penalty {}, CTC weight {}",
                            decoding.length_penalty.value_or(1), loss.writing->scored_ctc_weight());
  if (decoding.nbest > 0) identity += fmt::format(", {} best", decoding.nbest);
  return identity;
}

}  // namespace

Recogniser::Recogniser(const Trained& trained, comm::Communicator& world, Scoring judging)
    : world_(world),
      judging_(judging),
      decoding_(trained.decoding),
      language_(trained.language),
      timed_(trained.timed),
      chunking_(trained.chunking),
      checkpoint_(open_for(trained, world)),
      config_(config_for(checkpoint_, trained, world.size())),
      by_ctc_(trained.decoder == "ctc" && config_.model.decoder != "ctc"),
      loss_(loss_for(config_, trained)),
      tokenizer_(make_tokenizer(config_.text)),
      sequence_(partition::build_frozen_model(config_.model, tokenizer_->labels())) {
  check_decoding(trained, config_, loss_);
  if (searches_ctc(trained, config_)) {
    ctc_decoders_.emplace(*tokenizer_, trained.decoding.beam, trained.ctc,
                          first_ctc_channel(config_));
    ctc_identity_ = trained.ctc.identity();
  }
  if (timed_ == TimedTexts::recognised) ctc_identity_ += ", timed";
  if (timed_ == TimedTexts::references) ctc_identity_ += ", aligned";
  if (trained.chunking.enabled()) {
    if (joins_frames(trained, config_, sequence_))
      chunks_.emplace(trained.chunking, sequence_, config_.features);
    else
      check_segments(trained);
    ctc_identity_ += fmt::format(", chunks of {} s that share {} s", trained.chunking.seconds,
                                 trained.chunking.shared_seconds());
  }
  word_timer_ = word_timer_for(trained, config_, sequence_, *tokenizer_);
  if (loss_.writing) {
    sequence_.beam = decoding_.beam;
    loss_.writing->decoding = decoding_;
  }
  check_stages(world, config_.pipeline, sequence_);
  readers_ = corpus_readers(config_, sequence_,
                            planned_model(sequence_, config_.model, tokenizer_->labels()));
}

// The manifest's hash vouches for all bytes of the checkpoint; see manifest.cpp.
std::string Recogniser::identity() const {
  const auto manifest = map_file(checkpoint_.folder() / kManifestFile);
  return fmt::format("{:016x} in {}{}{}{}", hash_of(manifest.bytes()), config_.precision.compute,
                     by_ctc_ ? " by ctc" : "", language_.empty() ? "" : " of " + language_,
                     identity_of(decoding_, loss_) + ctc_identity_);
}

// restore() reads weights and statistics alone, as `false` says: the optimizer's state is not
// needed.
void Recogniser::make_session(const Lengths& lengths) {
  const RunShape shape = shape_of_recognition(config_, lengths, tokenizer_->labels());
  const partition::Plan plan =
      plan_run(sequence_, config_, shape,
               recognition_costs(sequence_, config_, shape, judging_ == Scoring::by_texts));
  session_ = std::make_unique<Session>(
      world_, SessionOptions{.config = config_, .sequence = sequence_, .plan = plan});
  Saving(session_->backend(), session_->stream(), session_->grid(), session_->stage(), {})
      .restore(checkpoint_, false);
  decoder_ = session_->stage().last() && ctc_decoders_
                 ? ctc_decoders_->decoder()
                 : decoder_of(session_->stage(), loss_, decoding_);
}

/// The joined frames of a recording have CTC's logits alone, and any rank can decode them.
EvaluationOptions Recogniser::joined_options(EvaluationOptions options) const {
  options.decoder =
      ctc_decoders_ ? ctc_decoders_->decoder_of_logits() : layers::ctc_greedy_decoder();
  if (word_timer_)
    options.word_timer =
        ctc_word_timer(*tokenizer_, {.frame_seconds = frame_shift(sequence_, config_.features)});
  return options;
}

/// Throws ConfigError if what is asked for can't be had from segments, which are decoded apart, or
/// if the longest of them does not fit the model.
void Recogniser::check_segments(const Trained& trained) const {
  const std::string checkpoint = trained.checkpoint.string();
  const std::string why = fmt::format(
      "{}: only CTC with equally distant frames joins chunks, and others are cut at pauses",
      checkpoint);
  if (trained.chunking.overlap) throw ConfigError(why + ": leave out --overlap");
  if (trained.decoding.nbest > 0) throw ConfigError(why + ": leave out --nbest");
  if (trained.timed != TimedTexts::none)
    throw ConfigError(why + ", without times: leave out --chunk, or give segments of a manifest");
  (void)QuietCuts(1, chunking_.seconds);  // refuses what is too short
  try {
    (void)frames_at_loss(longest_segment(config_.features.sample_rate));
  } catch (const ShapeError& misfit) {
    throw ConfigError(fmt::format("{}: --chunk {:g}: so many seconds do not fit the model: {}",
                                  checkpoint, chunking_.seconds, misfit.what()));
  }
}

AudioLength Recogniser::longest_segment(int rate) const {
  return {static_cast<std::int64_t>(chunking_.seconds * rate), rate};
}

/// Returns how many frames at the loss audio has that is heard at once.
std::int64_t Recogniser::frames_at_loss(const AudioLength& heard) const {
  const std::int64_t frames = shape_utterance(0, heard, 1, config_.features).frames;
  return partition::output_frames(sequence_, std::vector{frames}).front();
}

bool Recogniser::cuts(const AudioLength& length) const {
  if (chunks_) return chunks_->cuts(length);
  return chunking_.enabled() && is_segmented(length, chunking_.seconds);
}

/// Segments count as if all were of the longest length.
std::int64_t Recogniser::output_frames(std::int64_t frames) const {
  if (chunks_) return chunks_->output_frames(frames);
  const AudioLength segment = longest_segment(config_.features.sample_rate);
  const std::int64_t most = shape_utterance(0, segment, 1, config_.features).frames;
  if (frames > most) return frames_at_loss(segment) * (frames / most + 1);
  return partition::output_frames(sequence_, std::vector{frames}).front();
}

void Recogniser::check_length(const AudioLength& length) const {
  if (chunks_ && chunks_->cuts(length))
    (void)chunks_->cut(length);
  else
    (void)frames_at_loss(cuts(length) ? longest_segment(length.rate) : length);
}

/// Pauses are not known yet: segments count as if all were of the longest length, and the
/// last one of a recording as no shorter than QuietCuts leaves it.
Lengths Recogniser::heard_at_once(const Lengths& lengths) const {
  if (chunks_) return heard_lengths(lengths, *chunks_);
  if (!chunking_.enabled()) return lengths;
  std::vector<AudioLength> heard;
  for (std::uint64_t id = 0; id < lengths.size(); ++id) {
    AudioLength left = lengths[id];
    const std::int64_t most = longest_segment(left.rate).samples;
    for (; cuts(left); left.samples -= most) heard.push_back({most, left.rate});
    if (left.samples < lengths[id].samples)
      left.samples = std::max(left.samples, std::min<std::int64_t>(left.rate / 2, most));
    heard.push_back(left);
  }
  return heard;
}

Evaluation Recogniser::evaluate(const Corpus& corpus, EvaluationOptions options) {
  if (session_ == nullptr) make_session(heard_at_once(corpus.lengths));
  options.features = config_.features;
  options.data = config_.data;
  if (!options.decoder) options.decoder = decoder_;
  options.writing = loss_.writing;
  options.word_timer = word_timer_;
  options.times_references = timed_ == TimedTexts::references;
  options.decoding = decoding_;
  options.reads_labels = config_.model.loss().writing.has_value();
  options.threads = config_.trainer.threads;
  if (!chunking_.enabled()) return runtime::evaluate(*session_, corpus, *tokenizer_, options);
  if (!chunks_)
    return evaluate_segments(corpus, {.session = *session_,
                                      .tokenizer = *tokenizer_,
                                      .options = options,
                                      .readers = readers_,
                                      .seconds = chunking_.seconds});
  return evaluate_chunks(corpus, {.session = *session_,
                                  .chunks = *chunks_,
                                  .tokenizer = *tokenizer_,
                                  .whole = options,
                                  .joined = joined_options(options),
                                  .first_channel = by_ctc_ ? first_ctc_channel(config_) : 0});
}

}  // namespace penstock::runtime
