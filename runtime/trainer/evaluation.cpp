#include "runtime/trainer/evaluation.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "comm/collectives.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/trainer/loader_threads.h"
#include "runtime/trainer/told_utterances.h"
#include "runtime/trainer/utterance_scorer.h"

namespace penstock::runtime {
namespace {

/// Decodes and scores the logits of the last stage of this replica.
void decode(UtteranceScorer& scorer, const MicroBatchWork& work, const layers::Frames& logits) {
  const float* row = logits.x_FC.as<float>();
  std::vector<std::span<const float>> inputs;
  for (std::size_t u = 0; u < work.utterances.size(); ++u) {
    inputs.emplace_back(row, static_cast<std::size_t>(logits.lengths[u] * logits.channels()));
    row += inputs.back().size();
  }
  scorer.decode({work.utterances, inputs, logits.channels()});
}

/// States that no utterance has a label, where a decoder is to write them.
void state_no_labels(StepWork& work) {
  for (MicroBatchWork& m : work.micro_batches) m.label_lengths.assign(m.lengths.size(), 0);
}

/// Runs a replica's work forward, and decodes and scores it by `scorer`.
StepSums pass(Stage& stage, const StepWork& work, ExecutorCallbacks callbacks,
              const EvaluationOptions& options, UtteranceScorer& scorer) {
  if (options.writing) {
    const auto write = [&](const MicroBatchWork& m, std::vector<TextGeneration::Texts> texts) {
      scorer.take(m.utterances, std::move(texts));
    };
    return stage.write_texts(work, callbacks, *options.writing, write, options.advance);
  }
  callbacks.logits = [&](const MicroBatchWork& m, const layers::Frames& logits) {
    decode(scorer, m, logits);
    if (options.advance) options.advance();
  };
  return stage.evaluate(work, callbacks);
}

}  // namespace

layers::Decoder decoder_of(const Stage& stage, const layers::Loss& loss,
                           const layers::DecodingOptions& decoding) {
  return stage.last() && !loss.writing ? loss.make_decoder(stage.last_parameters(), decoding)
                                       : nullptr;
}

// Every rank forms the same micro-batches from the lengths, and its replica takes its share.
// `losses` has an entry for each micro-batch of the corpus, which is 0 except on the rank that
// computed it. So the sum over ranks is exact, and the entries are added in the same order in every
// layout. A rank without micro-batches skips the passes, but takes part in all messages.
Evaluation evaluate(Session& session, const Corpus& corpus, const Tokenizer& tokenizer,
                    const EvaluationOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Stage& stage = session.stage();
  const RankGrid& grid = session.grid();
  const auto batches = evaluation_batches(corpus.lengths, options.data, options.features);
  StepWork work = evaluation_work(batches, corpus, grid.here().replica, grid.replicas().size(),
                                  stage.needs_labels() && corpus.labels != nullptr);
  if (corpus.labels == nullptr && (options.writing || options.reads_labels)) state_no_labels(work);

  std::unique_ptr<FeatureFeed> feed;
  ExecutorCallbacks callbacks;
  const int loaders = loader_threads(options.data, {options.threads, stage.first()}, grid.world());
  if (stage.first()) {
    feed = std::make_unique<FeatureFeed>(corpus, options.features, loaders);
    feed->announce(0, batches_of(work, batches));
    callbacks.read_features = feed->reader();
  }
  UtteranceScorer scorer(corpus, tokenizer, options);
  std::vector<double> losses(batches.size());  // each is computed on one rank
  if (!work.micro_batches.empty()) {
    const StepSums sums = pass(stage, work, callbacks, options, scorer);
    if (stage.last()) std::ranges::copy(sums.losses, losses.begin());
  }
  Evaluation evaluation;
  if (feed) evaluation.failures = feed->failures();
  scorer.tell_failures(evaluation.failures);
  comm::sum_disjoint(grid.world(), losses);

  evaluation.utterances = scorer.told().gather(grid.world(), corpus.size());
  evaluation.loss_sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  EvaluationReport& report = evaluation.report;
  report = count_together(grid.world(), evaluation.utterances, corpus.parts);
  report.skipped = corpus.skipped + static_cast<std::int64_t>(corpus.size()) - report.utterances;
  report.loss =
      evaluation.loss_sum / static_cast<double>(std::max<std::int64_t>(report.utterances, 1));
  report.audio_seconds = corpus.seconds();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace penstock::runtime
