#include "runtime/trainer/evaluation.h"

#include <chrono>
#include <memory>
#include <sstream>

#include "comm/collectives.h"
#include "runtime/text/error_rate.h"
#include "runtime/text/greedy.h"
#include "runtime/trainer/corpus_work.h"
#include "runtime/trainer/feature_feed.h"

namespace penstock {
namespace {

/// What each micro-batch contributes, in this order; whole numbers are exact in FP64.
enum Column { kLoss, kWordEdits, kWords, kCharacterEdits, kCharacters, kColumns };

/// Decodes and scores what leaves the last stage of this replica.
class Scorer {
 public:
  Scorer(const Corpus& corpus, const Alphabet& alphabet, std::span<double> table)
      : corpus_(corpus), alphabet_(alphabet), table_(table) {}

  void operator()(const MicroBatchWork& work, const Frames& logits) {
    const float* row = logits.x_FC.as<float>();
    ErrorCount errors;
    for (std::size_t u = 0; u < work.utterances.size(); ++u) {
      const std::size_t size = logits.lengths[u] * logits.channels();
      const std::string text = alphabet_.decode(greedy_labels({row, size}, logits.channels()));
      row += size;
      lines_ << work.utterances[u] << '\t' << text << '\n';
      const std::string& reference = corpus_.entries[work.utterances[u]].text;
      if (!work.label_lengths.empty())
        errors += count_errors(alphabet_.normalised(reference), text);
    }
    const auto cells = table_.subspan(work.place * kColumns, kColumns);
    cells[kWordEdits] = static_cast<double>(errors.words.edits);
    cells[kWords] = static_cast<double>(errors.words.reference);
    cells[kCharacterEdits] = static_cast<double>(errors.characters.edits);
    cells[kCharacters] = static_cast<double>(errors.characters.reference);
  }

  std::string lines() const { return lines_.str(); }

 private:
  const Corpus& corpus_;
  const Alphabet& alphabet_;
  std::span<double> table_;
  std::ostringstream lines_;
};

std::vector<std::string> transcripts_of(const std::vector<std::string>& ranks, std::size_t count) {
  std::vector<std::string> transcripts(count);
  for (const std::string& lines : ranks) {
    std::istringstream in(lines);
    std::size_t id = 0;
    while (in >> id) {
      in.get();  // the tabulator
      std::getline(in, transcripts.at(id));
    }
  }
  return transcripts;
}

EvaluationReport report_of(std::span<const double> table, const Corpus& corpus) {
  std::vector<double> sums(kColumns);
  for (std::size_t i = 0; i < table.size(); ++i) sums[i % kColumns] += table[i];
  const auto whole = [&](Column column) { return static_cast<std::int64_t>(sums[column]); };
  EvaluationReport report;
  report.utterances = static_cast<std::int64_t>(corpus.entries.size());
  report.skipped = corpus.skipped;
  report.loss = sums[kLoss] / static_cast<double>(report.utterances);
  report.word_edits = whole(kWordEdits);
  report.words = whole(kWords);
  report.character_edits = whole(kCharacterEdits);
  report.characters = whole(kCharacters);
  report.wer = EditCount{report.word_edits, report.words}.rate();
  report.cer = EditCount{report.character_edits, report.characters}.rate();
  report.audio_seconds = corpus.seconds();
  return report;
}

}  // namespace

Evaluation evaluate(Session& session, const Corpus& corpus, const Alphabet& alphabet,
                    const EvaluationOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Stage& stage = session.stage();
  const Grid& grid = session.grid();
  const auto batches = evaluation_batches(corpus.lengths, options.data, options.features);
  const StepWork work =
      evaluation_work(batches, corpus, grid.here().replica, grid.replicas().size(),
                      stage.needs_targets() && !corpus.labels.empty());

  std::unique_ptr<FeatureFeed> feed;
  ExecutorCallbacks callbacks;
  if (stage.first()) {
    feed = std::make_unique<FeatureFeed>(corpus, options.features, options.data);
    feed->announce(0, batches_of(work, batches));
    callbacks.read_features = feed->reader();
  }
  std::vector<double> table(batches.size() * kColumns);
  Scorer scorer(corpus, alphabet, table);
  callbacks.logits = [&](const MicroBatchWork& m, const Frames& logits) { scorer(m, logits); };
  if (!work.micro_batches.empty()) {
    const StepSums sums = stage.evaluate(work, callbacks);
    if (stage.last())
      for (std::size_t m = 0; m < batches.size(); ++m) table[m * kColumns + kLoss] = sums.losses[m];
  }
  sum_disjoint(grid.world(), table);

  Evaluation evaluation{report_of(table, corpus),
                        transcripts_of(gather(grid.world(), scorer.lines()),
                                       session.leads() ? corpus.entries.size() : 0)};
  evaluation.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace penstock
