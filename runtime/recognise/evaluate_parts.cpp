#include "runtime/recognise/evaluate_parts.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <utility>

#include "runtime/corpus/corpus_window.h"
#include "runtime/trainer/told_utterances.h"

namespace penstock::runtime {
namespace {

/// Adds what was heard of some utterances of a corpus.
void merge(Evaluation part, const std::vector<std::uint64_t>& ids, Evaluation& all) {
  for (std::size_t i = 0; i < part.utterances.size(); ++i)
    all.utterances[ids[i]] = std::move(part.utterances[i]);
  for (FailedUtterance& failure : part.failures)
    all.failures.push_back({ids[failure.id], std::move(failure.why)});
  all.loss_sum += part.loss_sum;
}

/// Evaluates the recordings that are not cut.
void evaluate_whole(const Corpus& corpus, const std::vector<std::uint64_t>& ids,
                    const PartedEvaluation& how, Evaluation& all) {
  EvaluationOptions options = how.options;
  if (options.logits)
    options.logits = [&](std::uint64_t id, std::span<const float> x_FC, std::int64_t channels) {
      how.options.logits(ids[id], x_FC, channels);
    };
  merge(evaluate(how.session, select_utterances(corpus, ids), how.tokenizer, options), ids, all);
}

}  // namespace

Corpus corpus_of_parts(const Corpus& corpus, const std::vector<RecordingPart>& parts) {
  std::vector<AudioLength> lengths;
  for (const RecordingPart& part : parts)
    lengths.push_back({part.samples.samples, corpus.lengths[part.recording].rate});
  Corpus cut;
  cut.lengths = lengths;
  cut.files = corpus.files;
  cut.audio = [audio = corpus.audio, parts, lengths](std::uint64_t id) {
    AudioSource source = audio(parts.at(id).recording);
    source.first = source.first.value_or(0) + parts[id].samples.first;
    source.length = lengths[id];
    return source;
  };
  if (corpus.prompt)
    cut.prompt = [prompt = corpus.prompt, parts](std::uint64_t id) {
      return prompt(parts.at(id).recording);
    };
  return cut;
}

std::vector<FailedUtterance> failures_of_recordings(const std::vector<FailedUtterance>& parts,
                                                    const std::vector<std::uint64_t>& recordings) {
  std::vector<FailedUtterance> failures;
  std::set<std::uint64_t> failed;
  for (const FailedUtterance& part : parts)
    if (failed.insert(recordings.at(part.id)).second)
      failures.push_back({recordings[part.id], part.why});
  return failures;
}

Evaluation evaluate_parts(const Corpus& corpus, const PartedEvaluation& how) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> whole, cut;
  for (std::uint64_t id = 0; id < corpus.size(); ++id)
    (how.cuts(corpus.lengths[id]) ? cut : whole).push_back(id);
  if (cut.empty()) return evaluate(how.session, corpus, how.tokenizer, how.options);
  comm::Communicator& world = how.session.grid().world();
  Evaluation all;
  all.utterances.resize(world.rank() == 0 ? corpus.size() : 0);
  all.in_parts = std::ssize(cut);
  if (!whole.empty()) evaluate_whole(corpus, whole, how, all);
  how.evaluate_long(cut, all);
  EvaluationReport& report = all.report;
  report = count_together(world, all.utterances, {});
  report.skipped = corpus.skipped + static_cast<std::int64_t>(corpus.size()) - report.utterances;
  report.loss = all.loss_sum / static_cast<double>(std::max<std::size_t>(whole.size(), 1));
  report.audio_seconds = corpus.seconds();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return all;
}

}  // namespace penstock::runtime
