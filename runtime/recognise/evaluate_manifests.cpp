#include "runtime/recognise/evaluate_manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "comm/collectives.h"
#include "runtime/corpus/failed_audio.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/job/consistency.h"
#include "runtime/job/packing.h"
#include "runtime/recognise/manifest_fields.h"

// Each manifest is heard in windows of a bounded number of utterances, so memory does not grow with
// the test set. After a window the tallies move on and the window's utterances go to the observer.
// Tallies and `done` are all that a later run needs to go on, and the identity of checkpoint,
// manifests and fields says if it may.
//
// Windows follow from lengths alone, so all ranks cut the same ones. Fields of --by are read by the
// first reader of texts and gathered: ranks without fields send nothing, so what arrives is that
// rank's list.

namespace penstock::runtime {
namespace {

/// Returns the line number in a location: 17 for "train.jsonl:17".
std::size_t line_of(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  std::size_t line = 0;
  std::from_chars(where.data() + colon + 1, where.data() + where.size(), line);
  return line;
}

/// The evaluation of one manifest.
class ManifestEvaluation {
 public:
  ManifestEvaluation(Recogniser& recogniser, const TestSet& test, std::size_t manifest)
      : recogniser_(recogniser),
        test_(test),
        manifest_(manifest),
        corpus_(load_test_corpus(recogniser, test, test.manifests[manifest])) {}

  const Corpus& corpus() const { return corpus_; }

  /// Continues from the utterance at which `totals` end.
  void run(EvaluationTotals& totals, const EvaluationObserver& observer) {
    ErrorTally& tally = totals.manifests.at(manifest_);
    open_fields();
    for (auto first = static_cast<std::size_t>(totals.done.at(manifest_));
         first < corpus_.size();) {
      const std::size_t end =
          window_end(test_.window, {first, corpus_.size()},
                     [&](std::size_t id) { return corpus_.lengths[id].seconds(); });
      Evaluation evaluation = recogniser_.evaluate(
          window_of(corpus_, first, end), {.references = static_cast<bool>(observer.take)});
      tally += tally_of(evaluation);
      totals.done[manifest_] = static_cast<std::int64_t>(end);
      keep_failures(evaluation, first);
      FailedAudio(recogniser_.config().data.failing_utterances, corpus_.size())
          .check(recogniser_.world(), 0, tally.skipped - corpus_.skipped,
                 [&] { return failures_; });
      take(std::move(evaluation.utterances), first, totals, observer);
      first = end;
    }
  }

 private:
  int fields_reader() const { return recogniser_.readers().texts.front(); }

  void open_fields() {
    if (test_.by.empty() || recogniser_.world().rank() != fields_reader()) return;
    fields_.emplace(test_.manifests[manifest_], test_.by);
  }

  void keep_failures(const Evaluation& evaluation, std::size_t first) {
    for (FailedUtterance failure : evaluation.failures) {
      failure.id += first;
      failures_.push_back(std::move(failure));
    }
  }

  /// Returns the field values of utterances [first, end) on rank 0, one utterance after the other.
  /// Returns nothing on other ranks.
  std::vector<std::string> values(std::size_t first, std::size_t end) {
    std::vector<std::string> all;
    if (test_.by.empty()) return all;
    Packer own;
    std::string fault;
    if (fields_) try {
        for (std::size_t id = first; id < end; ++id)
          for (const std::string& value : fields_->at(line_of(corpus_.where(id)))) own.add(value);
      } catch (const DataError& error) {
        fault = error.what();
      }
    throw_together(recogniser_.world(), fault);
    for (std::string& of_rank : comm::gather(recogniser_.world(), own.bytes()))
      for (Unpacker from(std::move(of_rank)); !from.empty();) all.push_back(from.text());
    return all;
  }

  /// Adds to the tallies per value and passes the utterances to the observer.
  void take(std::vector<Recognised> heard, std::size_t first, EvaluationTotals& totals,
            const EvaluationObserver& observer) {
    const std::size_t end = static_cast<std::size_t>(totals.done[manifest_]);
    std::vector<std::string> all = values(first, end);
    if (recogniser_.world().rank() != 0) return;
    std::vector<JudgedUtterance> judged;
    const std::size_t fields = test_.by.size();
    for (std::size_t i = 0; i < heard.size(); ++i) {
      JudgedUtterance& utterance = judged.emplace_back();
      utterance.manifest = manifest_;
      utterance.source = corpus_.audio(first + i);
      if (corpus_.files) utterance.source.audio = corpus_.files->name(utterance.source.audio);
      utterance.recognised = std::move(heard[i]);
      for (std::size_t f = 0; f < fields; ++f) {
        utterance.values.push_back(std::move(all.at(i * fields + f)));
        totals.by.at(f)[utterance.values.back()] += tally_of(utterance.recognised);
      }
    }
    if (observer.take) observer.take(judged, totals);
  }

  Recogniser& recogniser_;
  const TestSet& test_;
  std::size_t manifest_;
  Corpus corpus_;
  std::optional<ManifestFields> fields_;   // set on the rank that reads them
  std::vector<FailedUtterance> failures_;  // failures on this rank
};

/// Returns empty totals, except for the utterances that the manifests skip.
EvaluationTotals fresh_totals(const Recogniser& recogniser, const TestSet& test,
                              const std::vector<ManifestEvaluation>& all) {
  EvaluationTotals totals;
  totals.step = recogniser.step();
  for (const ManifestEvaluation& evaluation : all)
    totals.manifests.push_back({.skipped = evaluation.corpus().skipped});
  totals.done.resize(all.size());
  totals.by.resize(test.by.size());
  return totals;
}

/// Totals of an earlier evaluation are added to only if this text is the same. It has the hashes of
/// checkpoint and utterances, in which files count by their names without folders, so folders may
/// move.
std::string identity_of(const Recogniser& recogniser, const TestSet& test,
                        const std::vector<ManifestEvaluation>& all) {
  std::string identity = "checkpoint " + recogniser.identity();
  for (const ManifestEvaluation& evaluation : all)
    identity += fmt::format("; {} utterances {:016x}", evaluation.corpus().size(),
                            evaluation.corpus().hash);
  for (const std::string& field : test.by) identity += "; by " + field;
  return identity;
}

void require_fields_together(const Recogniser& recogniser, const TestSet& test) {
  std::string fault;
  if (!test.by.empty() && recogniser.world().rank() == recogniser.readers().texts.front()) try {
      require_fields(test.manifests, test.by);
    } catch (const DataError& error) {
      fault = error.what();
    }
  throw_together(recogniser.world(), fault);
}

/// An earlier evaluation may have left totals, which rank 0 reads. All ranks take them over, since
/// all must go on from the same utterance.
EvaluationTotals begin_totals(const Recogniser& recogniser, const TestSet& test,
                              const EvaluationObserver& observer,
                              const std::vector<ManifestEvaluation>& all) {
  EvaluationTotals totals = fresh_totals(recogniser, test, all);
  if (recogniser.world().rank() == 0 && observer.begin)
    totals = observer.begin(identity_of(recogniser, test, all)).value_or(totals);
  return parse_totals(comm::broadcast(recogniser.world(), to_text(totals)));
}

}  // namespace

void check_named(const TestSet& test) {
  for (auto name = test.manifests.begin(); name != test.manifests.end(); ++name) {
    if (name->empty())
      throw ConfigError("the manifest's name is empty: name the utterances to evaluate");
    if (std::find(test.manifests.begin(), name, *name) != name)
      throw ConfigError(fmt::format("{} is named twice: name each manifest once", *name));
  }
  for (auto field = test.by.begin(); field != test.by.end(); ++field)
    if (std::find(test.by.begin(), field, *field) != field)
      throw ConfigError(fmt::format("--by {} is given twice: give it once", *field));
}

Corpus load_test_corpus(const Recogniser& recogniser, const TestSet& test,
                        const std::string& manifest) {
  CorpusOptions options =
      corpus_options(recogniser.config(), recogniser.sequence(), manifest, CorpusUse::evaluation);
  options.warns_unkept = manifest == test.manifests.front();
  options.text.reset();  // keep the checkpoint's labels
  if (recogniser.hears_in_parts()) {
    options.output_frames = [&recogniser](std::int64_t frames) {
      return recogniser.output_frames(frames);
    };
    options.heard_in_parts = [&recogniser](const AudioLength& length) {
      if (!recogniser.cuts(length)) return false;
      recogniser.check_length(length);
      return true;
    };
  }
  if (test.skip_bad) options.data.bad_utterances = *test.skip_bad ? "skip" : "refuse";
  options.advice = "Correct them, or leave them out by --skip-bad.";
  return load_corpus(options, recogniser.tokenizer(), recogniser.world(), recogniser.readers());
}

EvaluationTotals evaluate_checkpoint(const Trained& trained, const TestSet& test,
                                     comm::Communicator& world,
                                     const EvaluationObserver& observer) {
  check_named(test);
  Recogniser recogniser(trained, world, Scoring::by_texts);
  return comm::guarded(world.shutdown(), [&] {
    require_fields_together(recogniser, test);
    std::vector<ManifestEvaluation> all;
    all.reserve(test.manifests.size());
    for (std::size_t m = 0; m < test.manifests.size(); ++m) all.emplace_back(recogniser, test, m);
    EvaluationTotals totals = begin_totals(recogniser, test, observer, all);
    for (ManifestEvaluation& evaluation : all) evaluation.run(totals, observer);
    return totals;
  });
}

}  // namespace penstock::runtime
