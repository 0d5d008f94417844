#include "runtime/recognise/tune_decoding.h"

#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "base/error.h"
#include "runtime/corpus/failed_audio.h"
#include "runtime/job/packing.h"

// Logits of a development set may need more memory than a machine has, and hearing is cheap beside
// dozens of beam searches. So nothing is kept between the rounds. The first weights of a round are
// the evaluation's own, and the others its alternatives. Rank 0 has the errors of all
// utterances and sends the sums to the others, so that all ask for the same weights next.

namespace penstock::runtime {
namespace {

/// Sums over the utterances of all manifests.
struct RoundTotals {
  std::vector<ErrorCount> errors;  // by each of the round's weights
  std::int64_t utterances = 0, skipped = 0;
};

void add(const std::vector<Recognised>& heard, RoundTotals& totals) {
  for (const Recognised& utterance : heard) {
    if (!utterance.fault.empty()) continue;
    totals.errors[0] += utterance.errors;
    for (std::size_t k = 1; k < totals.errors.size(); ++k)
      totals.errors[k] += utterance.alternatives.at(k - 1);
  }
}

/// Returns the sums of rank 0 on all ranks.
std::vector<ErrorCount> shared_errors(comm::Communicator& world, std::vector<ErrorCount> errors) {
  Packer own;
  for (const ErrorCount& one : errors) pack(one, own);
  Unpacker from(comm::broadcast(world, own.bytes()));
  for (ErrorCount& one : errors) one = unpack_errors(from);
  return errors;
}

/// Hears one manifest, window by window.
void hear(Recogniser& recogniser, const Corpus& corpus, const WindowBounds& bounds,
          const EvaluationOptions& options, RoundTotals& totals) {
  std::vector<FailedUtterance> failures;
  std::int64_t failed = 0;
  for (std::size_t first = 0; first < corpus.size();) {
    const std::size_t end = window_end(bounds, {first, corpus.size()}, [&](std::size_t id) {
      return corpus.lengths[id].seconds();
    });
    Evaluation evaluation = recogniser.evaluate(window_of(corpus, first, end), options);
    for (FailedUtterance& failure : evaluation.failures) {
      failure.id += first;
      failures.push_back(std::move(failure));
    }
    totals.utterances += evaluation.report.utterances;
    failed += evaluation.report.skipped;
    FailedAudio(recogniser.config().data.failing_utterances, corpus.size())
        .check(recogniser.world(), 0, failed, [&] { return failures; });
    add(evaluation.utterances, totals);
    first = end;
  }
  totals.skipped += corpus.skipped + failed;
}

}  // namespace

Tuning tune_decoding(const Trained& trained, const TestSet& test,
                     const WeightSearchOptions& options, comm::Communicator& world,
                     const std::function<void(const WeightSearch&)>& told) {
  check_named(test);
  (void)WeightSearch(options, {});  // refuses the options before anything is read
  if (trained.ctc.lm.empty())
    throw ConfigError("there is no language model whose weights could be tuned: name one by --lm");
  Recogniser recogniser(trained, world, Scoring::by_texts);
  const CtcBeamDecoders& decoders = *recogniser.ctc_decoders();
  return comm::guarded(world.shutdown(), [&] {
    std::vector<Corpus> corpora;
    for (const std::string& manifest : test.manifests)
      corpora.push_back(load_test_corpus(recogniser, test, manifest));
    WeightSearch search(options, decoders.scoring());
    Tuning tuning;
    for (auto weights = search.next(); !weights.empty(); weights = search.next()) {
      EvaluationOptions how{.decoder = decoders.decoder(weights.front())};
      for (const WordScoring& one : weights | std::views::drop(1))
        how.alternatives.push_back(decoders.decoder(one));
      RoundTotals totals{.errors = std::vector<ErrorCount>(weights.size())};
      for (const Corpus& corpus : corpora) hear(recogniser, corpus, test.window, how, totals);
      search.take(shared_errors(world, std::move(totals.errors)));
      tuning.utterances = totals.utterances;
      tuning.skipped = totals.skipped;
      if (told && world.rank() == 0) told(search);
    }
    tuning.tried = search.tried();
    tuning.best = search.best();
    return tuning;
  });
}

}  // namespace penstock::runtime
