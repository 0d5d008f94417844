#include "runtime/trainer/told_utterances.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/collectives.h"
#include "runtime/job/packing.h"

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

void begin(Packer& told, Told what, std::uint64_t id) {
  told.add(static_cast<std::int64_t>(what));
  told.add(static_cast<std::int64_t>(id));
}

}  // namespace

void ToldUtterances::tell(std::uint64_t id, const Recognised& heard) {
  begin(told_, Told::heard, id);
  add(told_, heard);
}

void ToldUtterances::tell_failure(const FailedUtterance& utterance) {
  begin(told_, Told::fault, utterance.id);
  told_.add(utterance.why);
}

std::vector<Recognised> ToldUtterances::gather(comm::Communicator& world, std::size_t count) const {
  std::vector<std::string> told = comm::gather(world, told_.bytes());
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

}  // namespace penstock::runtime
