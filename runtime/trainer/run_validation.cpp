#include "runtime/trainer/run_validation.h"

#include <fmt/format.h>

#include "runtime/corpus/failed_audio.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

ValidationBasis validation_basis(const PreparedTraining& training) {
  const bool validates = !training.config.data.validation.empty();
  return {.metric = training.config.trainer.best_metric,
          .corpus_hash = validates ? fmt::format("{}", training.validation.hash) : ""};
}

EvaluationReport run_validation(Session& session, const PreparedTraining& training) {
  const configs::Config& config = training.config;
  const Evaluation evaluation =
      evaluate(session, training.validation, *training.tokenizer,
               {.features = config.features,
                .data = config.data,
                .decoder = decoder_of(session.stage(), config.model.loss()),
                .writing = config.model.loss().writing,
                .threads = config.trainer.threads,
                .advance = [&training] { training.context.activity->advance(); }});
  FailedAudio(config.data.failing_utterances, training.validation.size(), [&](std::uint64_t id) {
    return training.validation.name(id);
  }).check(training.context.world, 0, evaluation.report.skipped - training.validation.skipped, [&] {
    return evaluation.failures;
  });
  return evaluation.report;
}

}  // namespace penstock::runtime
