#include "runtime/trainer/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "comm/collectives.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/job/packing.h"
#include "runtime/trainer/loader_threads.h"

namespace penstock::runtime {
namespace {

/// Kind of an entry in a rank's message about utterances. For a failed utterance, the first stage's
/// rank sends `fault`. The last stage's rank sends `heard` for every utterance, computed from
/// silence if it failed.
///
///   heard: id, text, reference, word edits, words, character edits, characters, score,
///          oracle's word edits, number of texts, and text and score of each,
///          number of words, and word, start, end and confidence of each,
///          number of alternatives, and the four counts of errors of each
///   fault: id, reason
enum class Told : std::int64_t { fault, heard };

void add(Packer& message, const Recognised& heard) {
  message.add(heard.text);
  message.add(heard.reference);
  pack(heard.errors, message);
  pack(heard.score, message);
  message.add(heard.oracle_word_edits);
  message.add(std::ssize(heard.nbest));
  for (const auto& [text, score] : heard.nbest) {
    message.add(text);
    pack(std::optional(score), message);
  }
  message.add(std::ssize(heard.words));
  for (const TimedWord& word : heard.words) {
    message.add(word.word);
    for (const double number : {word.start, word.end, word.confidence})
      pack(std::optional(number), message);
  }
  message.add(std::ssize(heard.alternatives));
  for (const ErrorCount& errors : heard.alternatives) pack(errors, message);
}

void take(Recognised& heard, Unpacker& from) {
  heard.text = from.text();
  heard.reference = from.text();
  heard.errors = unpack_errors(from);
  heard.score = unpack_optional<double>(from);
  heard.oracle_word_edits = from.number();
  heard.nbest.resize(static_cast<std::size_t>(from.number()));
  for (auto& [text, score] : heard.nbest) {
    text = from.text();
    score = unpack_optional<double>(from).value();
  }
  heard.words.resize(static_cast<std::size_t>(from.number()));
  for (TimedWord& word : heard.words) {
    word.word = from.text();
    for (double* number : {&word.start, &word.end, &word.confidence})
      *number = unpack_optional<double>(from).value();
  }
  heard.alternatives.resize(static_cast<std::size_t>(from.number()));
  for (ErrorCount& errors : heard.alternatives) errors = unpack_errors(from);
}

/// Decodes and scores the logits of the last stage of this replica.
class Scorer {
 public:
  Scorer(const Corpus& corpus, const Tokenizer& tokenizer, const EvaluationOptions& options)
      : corpus_(corpus), tokenizer_(tokenizer), options_(options) {}

  void operator()(const MicroBatchWork& work, const layers::Frames& logits) {
    const float* row = logits.x_FC.as<float>();
    std::vector<std::span<const float>> inputs;
    for (std::size_t u = 0; u < work.utterances.size(); ++u) {
      inputs.emplace_back(row, static_cast<std::size_t>(logits.lengths[u] * logits.channels()));
      row += inputs.back().size();
      if (options_.logits) options_.logits(work.utterances[u], inputs[u], logits.channels());
    }
    std::vector<std::vector<layers::Hypothesis>> found(inputs.size());
    std::vector<std::vector<TimedWord>> words(inputs.size());
    std::vector<std::string> faults(inputs.size());
    parallel_for(inputs.size(), options_.threads, [&](std::size_t u) {
      found[u] = options_.decoder(inputs[u], logits.channels(), tokenizer_.labels());
      const std::uint64_t id = work.utterances[u];
      try {
        if (options_.word_timer)
          words[u] = timed(id, inputs[u], logits.channels(), found[u].front().labels);
      } catch (const DataError& error) {
        faults[u] = fmt::format("{}: {}", corpus_.audio(id).audio.string(), error.what());
      }
    });
    std::vector<std::vector<ErrorCount>> alternatives = count_alternatives(work, inputs, logits);
    for (std::size_t u = 0; u < found.size(); ++u) {
      if (faults[u].empty())
        tell(work.utterances[u], found[u],
             {.words = std::move(words[u]), .alternatives = std::move(alternatives[u])});
      else
        tell_failures({{work.utterances[u], faults[u]}});
    }
  }

  /// Takes texts that the decoder wrote. Its classes that are no labels mean nothing in text.
  void operator()(const MicroBatchWork& work, std::vector<TextGeneration::Texts> written) {
    for (std::size_t u = 0; u < work.utterances.size(); ++u) {
      for (layers::Hypothesis& one : written[u])
        std::erase_if(one.labels,
                      [&](std::int32_t c) { return c == 0 || c >= tokenizer_.labels(); });
      tell(work.utterances[u], written[u]);
    }
  }

  void tell_failures(const std::vector<FailedUtterance>& failures) {
    for (const FailedUtterance& utterance : failures) {
      begin(Told::fault, utterance.id);
      told_.add(utterance.why);
    }
  }

  const std::string& told() const { return told_.bytes(); }

 private:
  /// Returns the words of an utterance, which end with its audio.
  std::vector<TimedWord> timed(std::uint64_t id, std::span<const float> x_FC, std::int64_t channels,
                               const std::vector<std::int32_t>& heard) const {
    std::vector<TimedWord> words =
        options_.word_timer(x_FC, channels, options_.times_references ? corpus_.labels(id) : heard);
    for (TimedWord& word : words) word.end = std::min(word.end, corpus_.lengths[id].seconds());
    return words;
  }

  /// Returns the errors of each utterance by each alternative, if there are references.
  std::vector<std::vector<ErrorCount>> count_alternatives(
      const MicroBatchWork& work, const std::vector<std::span<const float>>& inputs,
      const layers::Frames& logits) const {
    std::vector<std::vector<ErrorCount>> errors(inputs.size());
    const std::size_t each = corpus_.labels == nullptr ? 0 : options_.alternatives.size();
    std::vector<std::string> references;
    for (std::size_t u = 0; each > 0 && u < inputs.size(); ++u) {
      errors[u].resize(each);
      references.push_back(tokenizer_.normalised(corpus_.text(work.utterances[u])));
    }
    parallel_for(inputs.size() * each, options_.threads, [&](std::size_t i) {
      const std::size_t u = i / each, k = i % each;
      const auto found =
          options_.alternatives[k](inputs[u], logits.channels(), tokenizer_.labels());
      errors[u][k] = count_errors(references[u], tokenizer_.decode(found.front().labels));
    });
    return errors;
  }

  void begin(Told what, std::uint64_t id) {
    told_.add(static_cast<std::int64_t>(what));
    told_.add(static_cast<std::int64_t>(id));
  }

  /// Tells what was found of an utterance, beside what `heard` has already.
  void tell(std::uint64_t id, const std::vector<layers::Hypothesis>& found, Recognised heard = {}) {
    begin(Told::heard, id);
    heard.text = tokenizer_.decode(found.front().labels);
    if (options_.decoding.beam > 1) heard.score = found.front().score;
    const auto count = std::min(found.size(), static_cast<std::size_t>(options_.decoding.nbest));
    for (const layers::Hypothesis& one : std::span(found).first(count))
      heard.nbest.push_back({tokenizer_.decode(one.labels), one.score});
    if (corpus_.labels != nullptr) compare(heard, tokenizer_.normalised(corpus_.text(id)));
    add(told_, heard);
  }

  void compare(Recognised& heard, const std::string& reference) const {
    heard.errors = count_errors(reference, heard.text);
    heard.oracle_word_edits = heard.errors.words.edits;
    for (const auto& [text, score] : heard.nbest)
      heard.oracle_word_edits =
          std::min(heard.oracle_word_edits, count_errors(reference, text).words.edits);
    if (options_.references) heard.reference = reference;
  }

  const Corpus& corpus_;
  const Tokenizer& tokenizer_;
  const EvaluationOptions& options_;
  Packer told_;
};

/// States that no utterance has a label, where a decoder is to write them.
void state_no_labels(StepWork& work) {
  for (MicroBatchWork& m : work.micro_batches) m.label_lengths.assign(m.lengths.size(), 0);
}

/// Runs a replica's work forward, and decodes and scores it by `scorer`.
StepSums pass(Stage& stage, const StepWork& work, ExecutorCallbacks callbacks,
              const EvaluationOptions& options, Scorer& scorer) {
  if (options.writing) {
    const auto write = [&](const MicroBatchWork& m, std::vector<TextGeneration::Texts> texts) {
      scorer(m, std::move(texts));
    };
    return stage.write_texts(work, callbacks, *options.writing, write, options.advance);
  }
  callbacks.logits = [&](const MicroBatchWork& m, const layers::Frames& logits) {
    scorer(m, logits);
    if (options.advance) options.advance();
  };
  return stage.evaluate(work, callbacks);
}

/// Returns the results of all ranks on rank 0, and nothing on other ranks.
std::vector<Recognised> gather_recognised(comm::Communicator& world, const std::string& own,
                                          std::size_t count) {
  std::vector<std::string> told = comm::gather(world, own);
  std::vector<Recognised> utterances(told.empty() ? 0 : count);
  for (std::string& of_rank : told)
    for (Unpacker from(std::move(of_rank)); !from.empty();) {
      const auto what = static_cast<Told>(from.number());
      Recognised& utterance = utterances.at(static_cast<std::size_t>(from.number()));
      if (what == Told::fault) {
        utterance.fault = from.text();
        continue;
      }
      take(utterance, from);
    }
  return utterances;
}

/// Appends the counts of some utterances. Failed ones contribute no errors.
void add_counts(std::span<const Recognised> utterances, Packer& counts) {
  std::int64_t heard = 0, oracle = 0;
  ErrorCount errors;
  for (const Recognised& utterance : utterances) {
    if (!utterance.fault.empty()) continue;
    ++heard;
    errors += utterance.errors;
    oracle += utterance.oracle_word_edits;
  }
  counts.add(heard);
  counts.add(oracle);
  pack(errors, counts);
}

EvaluationReport take_counts(Unpacker& from) {
  EvaluationReport report;
  report.utterances = from.number();
  report.oracle_word_edits = from.number();
  const ErrorCount errors = unpack_errors(from);
  report.word_edits = errors.words.edits;
  report.words = errors.words.reference;
  report.character_edits = errors.characters.edits;
  report.characters = errors.characters.reference;
  report.wer = errors.words.rate();
  report.cer = errors.characters.rate();
  return report;
}

/// Counts on rank 0 and broadcasts the counts, of all utterances and of each part.
EvaluationReport count_together(comm::Communicator& world,
                                const std::vector<Recognised>& utterances,
                                const std::vector<CorpusPart>& parts) {
  Packer counts;
  if (world.rank() == 0) {
    std::span<const Recognised> rest = utterances;
    add_counts(rest, counts);
    for (const CorpusPart& part : parts) {
      add_counts(rest.first(part.utterances), counts);
      rest = rest.subspan(part.utterances);
    }
  }
  Unpacker from(comm::broadcast(world, counts.bytes()));
  EvaluationReport report = take_counts(from);
  for (const CorpusPart& part : parts) {
    const EvaluationReport own = take_counts(from);
    report.parts.push_back({part.manifest, own.utterances, own.wer, own.cer});
  }
  return report;
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
  Scorer scorer(corpus, tokenizer, options);
  std::vector<double> losses(batches.size());  // each is computed on one rank
  if (!work.micro_batches.empty()) {
    const StepSums sums = pass(stage, work, callbacks, options, scorer);
    if (stage.last()) std::ranges::copy(sums.losses, losses.begin());
  }
  Evaluation evaluation;
  if (feed) evaluation.failures = feed->failures();
  scorer.tell_failures(evaluation.failures);
  comm::sum_disjoint(grid.world(), losses);

  evaluation.utterances = gather_recognised(grid.world(), scorer.told(), corpus.size());
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
