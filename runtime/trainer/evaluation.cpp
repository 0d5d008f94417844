#include "runtime/trainer/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <sstream>

#include "comm/collectives.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/failed_audio.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/text/error_rate.h"
#include "runtime/text/greedy.h"

namespace penstock::runtime {
namespace {

/// What is told of each utterance, in this order: first by the last stage, then by the first.
enum Column { kWordEdits, kWords, kCharacterEdits, kCharacters, kFailed, kColumns };

/// What ranks tell each other of an evaluation, each number by one of them; whole numbers are exact
/// in FP64.
class Table {
 public:
  Table(std::size_t micro_batches, std::size_t utterances)
      : losses_(micro_batches), numbers_(micro_batches + utterances * kColumns) {}

  std::span<double> numbers() { return numbers_; }
  std::span<double> losses() { return numbers().first(losses_); }
  std::span<double> utterance(std::size_t id) {
    return numbers().subspan(losses_ + id * kColumns, kColumns);
  }

 private:
  std::size_t losses_;
  std::vector<double> numbers_;
};

/// Decodes and scores what leaves the last stage of this replica.
class Scorer {
 public:
  Scorer(const Corpus& corpus, const Tokenizer& tokenizer, Table& table)
      : corpus_(corpus), tokenizer_(tokenizer), table_(table) {}

  void operator()(const MicroBatchWork& work, const layers::Frames& logits) {
    const float* row = logits.x_FC.as<float>();
    for (std::size_t u = 0; u < work.utterances.size(); ++u) {
      const std::size_t size = logits.lengths[u] * logits.channels();
      const std::string text =
          tokenizer_.decode(greedy_labels({row, size}, logits.channels(), tokenizer_.labels()));
      row += size;
      lines_ += fmt::format("{}\t{}\n", work.utterances[u], text);
      if (!work.label_lengths.empty()) score(work.utterances[u], text);
    }
  }

  const std::string& lines() const { return lines_; }

 private:
  void score(std::size_t id, const std::string& text) {
    const ErrorCount errors = count_errors(tokenizer_.normalised(corpus_.text(id)), text);
    const auto cells = table_.utterance(id);
    cells[kWordEdits] = static_cast<double>(errors.words.edits);
    cells[kWords] = static_cast<double>(errors.words.reference);
    cells[kCharacterEdits] = static_cast<double>(errors.characters.edits);
    cells[kCharacters] = static_cast<double>(errors.characters.reference);
  }

  const Corpus& corpus_;
  const Tokenizer& tokenizer_;
  Table& table_;
  std::string lines_;
};

void keep(const MicroBatchWork& work, const layers::Frames& logits, LogitsFile& file) {
  const float* row = logits.x_FC.as<float>();
  for (std::size_t u = 0; u < work.utterances.size(); ++u) {
    const auto size = static_cast<std::size_t>(logits.lengths[u] * logits.channels());
    file.keep(work.utterances[u], {row, size}, logits.channels());
    row += size;
  }
}

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

/// Utterances that have failed are left out of everything but their number.
EvaluationReport report_of(Table& table, const Corpus& corpus) {
  EvaluationReport report;
  report.skipped = corpus.skipped;
  for (std::size_t id = 0; id < corpus.size(); ++id) {
    const auto cells = table.utterance(id);
    const auto whole = [&](Column column) { return static_cast<std::int64_t>(cells[column]); };
    if (whole(kFailed) != 0) {
      ++report.skipped;
      continue;
    }
    ++report.utterances;
    report.word_edits += whole(kWordEdits);
    report.words += whole(kWords);
    report.character_edits += whole(kCharacterEdits);
    report.characters += whole(kCharacters);
  }
  const auto losses = table.losses();
  report.loss = std::accumulate(losses.begin(), losses.end(), 0.0) /
                static_cast<double>(std::max<std::int64_t>(report.utterances, 1));
  report.wer = EditCount{report.word_edits, report.words}.rate();
  report.cer = EditCount{report.character_edits, report.characters}.rate();
  report.audio_seconds = corpus.seconds();
  return report;
}

}  // namespace

Evaluation evaluate(Session& session, const Corpus& corpus, const Tokenizer& tokenizer,
                    const EvaluationOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Stage& stage = session.stage();
  const RankGrid& grid = session.grid();
  const auto batches = evaluation_batches(corpus.lengths, options.data, options.features);
  const StepWork work =
      evaluation_work(batches, corpus, grid.here().replica, grid.replicas().size(),
                      stage.needs_targets() && corpus.labels != nullptr);

  std::unique_ptr<FeatureFeed> feed;
  ExecutorCallbacks callbacks;
  if (stage.first()) {
    feed = std::make_unique<FeatureFeed>(corpus, options.features, options.data);
    feed->announce(0, batches_of(work, batches));
    callbacks.read_features = feed->reader();
  }
  Table table(batches.size(), corpus.size());
  Scorer scorer(corpus, tokenizer, table);
  callbacks.logits = [&](const MicroBatchWork& m, const layers::Frames& logits) {
    scorer(m, logits);
    if (options.logits != nullptr) keep(m, logits, *options.logits);
  };
  if (!work.micro_batches.empty()) {
    const StepSums sums = stage.evaluate(work, callbacks);
    if (stage.last()) std::ranges::copy(sums.losses, table.losses().begin());
  }
  auto failures = feed ? feed->failures() : std::vector<FailedUtterance>();
  for (const FailedUtterance& utterance : failures) table.utterance(utterance.id)[kFailed] = 1;
  comm::sum_disjoint(grid.world(), table.numbers());

  const EvaluationReport report = report_of(table, corpus);
  FailedAudio(options.data.failing_utterances, corpus.size())
      .check(grid.world(), 0, report.skipped - corpus.skipped, [&] { return failures; });
  Evaluation evaluation{report, transcripts_of(comm::gather(grid.world(), scorer.lines()),
                                               session.leads() ? corpus.size() : 0)};
  evaluation.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace penstock::runtime
