#include "runtime/recognise/evaluate_segments.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "comm/collectives.h"
#include "runtime/data/audio/quiet_cuts.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/job/packing.h"
#include "runtime/trainer/utterance_scorer.h"

// Ranks that read audio share the recordings, look for quiet moments, and tell all ranks where the
// segments begin. Then these are a corpus like any other. A recording that can't be read has no
// segments, but a fault.

namespace penstock::runtime {
namespace {

/// The segments of some recordings, the same on all ranks.
struct FoundSegments {
  std::vector<RecordingPart> parts;
  std::vector<std::uint64_t> recordings;  // of each part
};

/// Finds the segments of a recording. Returns none for one that can't be read, with its failure.
std::vector<SampleRange> find_segments(const Corpus& corpus, std::uint64_t id, double seconds,
                                       std::vector<FailedUtterance>& failures) try {
  const AudioSource source = corpus.audio(id);
  const LocalFile local = corpus.files ? corpus.files->open(source.audio) : LocalFile{source.audio};
  return cut_where_quiet(local.path, {source.first.value_or(0), source.length.samples}, seconds);
} catch (const DataError& error) {
  const std::string why =
      corpus.files ? corpus.files->with_names(error.what()) : std::string(error.what());
  failures.push_back({id, why});
  return {};
}

/// Reader r of n reads every n-th recording, from the r-th on.
FoundSegments find_together(const Corpus& corpus, const std::vector<std::uint64_t>& recordings,
                            const SegmentedEvaluation& how,
                            std::vector<FailedUtterance>& failures) {
  comm::Communicator& world = how.session.grid().world();
  Packer own;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (how.readers.audio[i % how.readers.audio.size()] != world.rank()) continue;
    const auto found = find_segments(corpus, recordings[i], how.seconds, failures);
    own.add(static_cast<std::int64_t>(i));
    own.add(std::ssize(found));
    for (const SampleRange& range : found) {
      own.add(range.first);
      own.add(range.samples);
    }
  }
  std::vector<std::vector<SampleRange>> all(recordings.size());
  for (Unpacker from(gather_to_all(world, own)); !from.empty();) {
    std::vector<SampleRange>& found = all.at(static_cast<std::size_t>(from.number()));
    found.resize(static_cast<std::size_t>(from.number()));
    for (SampleRange& range : found) {
      range.first = from.number();
      range.samples = from.number();
    }
  }
  FoundSegments segments;
  for (std::size_t i = 0; i < recordings.size(); ++i)
    for (const SampleRange& range : all[i]) {
      segments.parts.push_back({recordings[i], range});
      segments.recordings.push_back(recordings[i]);
    }
  return segments;
}

/// Adds a segment's result to that of the segments before it.
void append(const Recognised& segment, Recognised& recording) {
  if (recording.fault.empty()) recording.fault = segment.fault;
  if (!recording.text.empty() && !segment.text.empty()) recording.text += ' ';
  recording.text += segment.text;
  if (segment.score) recording.score = recording.score.value_or(0) + *segment.score;
}

/// Sends the texts of recordings from their reader to rank 0, which counts the errors.
void count_errors_together(const Corpus& corpus, const std::vector<std::uint64_t>& recordings,
                           const SegmentedEvaluation& how, std::vector<Recognised>& heard) {
  comm::Communicator& world = how.session.grid().world();
  Packer own;
  if (corpus.labels && world.rank() == how.readers.texts.front())
    for (const std::uint64_t id : recordings) own.add(how.tokenizer.normalised(corpus.text(id)));
  std::vector<std::string> references;
  for (std::string& of_rank : comm::gather(world, own.bytes()))
    for (Unpacker from(std::move(of_rank)); !from.empty();) references.push_back(from.text());
  parallel_for(references.size(), how.options.threads, [&](std::size_t i) {
    Recognised& recording = heard[recordings[i]];
    if (recording.fault.empty()) compare(recording, references[i], how.options);
  });
}

void evaluate_long(const Corpus& corpus, const std::vector<std::uint64_t>& recordings,
                   const SegmentedEvaluation& how, Evaluation& all) {
  std::vector<FailedUtterance> failures;
  const FoundSegments segments = find_together(corpus, recordings, how, failures);
  if (!segments.parts.empty()) {
    const Corpus cut = corpus_of_parts(corpus, segments.parts);
    const Evaluation heard = evaluate(how.session, cut, how.tokenizer, how.options);
    for (std::size_t i = 0; i < heard.utterances.size(); ++i)
      append(heard.utterances[i], all.utterances[segments.recordings[i]]);
    for (FailedUtterance& failure : failures_of_recordings(heard.failures, segments.recordings))
      all.failures.push_back(std::move(failure));
  }
  Packer own;
  for (const FailedUtterance& failure : failures) {
    own.add(static_cast<std::int64_t>(failure.id));
    own.add(failure.why);
  }
  for (Unpacker from(gather_to_all(how.session.grid().world(), own)); !from.empty();) {
    const auto id = static_cast<std::size_t>(from.number());
    std::string why = from.text();
    if (!all.utterances.empty()) all.utterances.at(id).fault = std::move(why);  // on rank 0
  }
  all.failures.insert(all.failures.end(), failures.begin(), failures.end());
  count_errors_together(corpus, recordings, how, all.utterances);
}

}  // namespace

bool is_segmented(const AudioLength& length, double seconds) { return length.seconds() > seconds; }

Evaluation evaluate_segments(const Corpus& corpus, const SegmentedEvaluation& how) {
  return evaluate_parts(
      corpus,
      {.session = how.session,
       .tokenizer = how.tokenizer,
       .options = how.options,
       .cuts = [&](const AudioLength& length) { return is_segmented(length, how.seconds); },
       .evaluate_long = [&](const std::vector<std::uint64_t>& recordings,
                            Evaluation& all) { evaluate_long(corpus, recordings, how, all); }});
}

}  // namespace penstock::runtime
