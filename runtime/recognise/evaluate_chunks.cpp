#include "runtime/recognise/evaluate_chunks.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "comm/collectives.h"
#include "runtime/job/packing.h"
#include "runtime/recognise/evaluate_parts.h"
#include "runtime/recognise/gathered_logits.h"
#include "runtime/trainer/told_utterances.h"
#include "runtime/trainer/utterance_scorer.h"

// The chunks of all long recordings form a corpus, whose utterances have no texts. It is evaluated
// as any other, so replicas share the chunks, and a pass holds a micro-batch's activations. What
// comes out of it are logits. Those that count go to scratch files and move to one rank, which maps
// them and decodes each recording: greedily, by a beam with all its word scores, and with times, as
// if the model had heard it at once. So memory follows from the chunk, from the text, and from what
// aligns it. Only the scratch files grow with frames × labels.

namespace penstock::runtime {
namespace {

/// The chunks of a corpus' long recordings.
struct ChunkCorpus {
  Corpus corpus;
  std::vector<std::uint64_t> recordings;  // id of each chunk's recording
  std::vector<AudioChunk> chunks;
};

ChunkCorpus cut_into_chunks(const Corpus& corpus, const AudioChunks& chunks,
                            const std::vector<std::uint64_t>& recordings) {
  ChunkCorpus cut;
  std::vector<RecordingPart> parts;
  for (const std::uint64_t id : recordings)
    for (const AudioChunk& chunk : chunks.cut(corpus.lengths[id])) {
      cut.recordings.push_back(id);
      cut.chunks.push_back(chunk);
      parts.push_back({id, chunk.samples});
    }
  cut.corpus = corpus_of_parts(corpus, parts);
  return cut;
}

/// Returns the frames of a chunk that count, of CTC's logits alone.
std::vector<float> counted_rows(std::span<const float> x_FC, std::int64_t channels,
                                const AudioChunk& chunk, std::int64_t first_channel) {
  std::vector<float> rows;
  rows.reserve(static_cast<std::size_t>(chunk.counted * (channels - first_channel)));
  for (std::int64_t row = chunk.skipped; row < chunk.skipped + chunk.counted; ++row) {
    const auto logits =
        x_FC.subspan(static_cast<std::size_t>(row * channels), static_cast<std::size_t>(channels));
    rows.insert(rows.end(), logits.begin() + first_channel, logits.end());
  }
  return rows;
}

/// Hears chunks, and keeps their logits. Returns the failures on this rank.
std::vector<FailedUtterance> hear(const ChunkCorpus& cut, const ChunkedEvaluation& how,
                                  GatheredLogits& logits) {
  EvaluationOptions options = how.whole;
  options.word_timer = nullptr;
  options.alternatives.clear();
  options.decoder = [](const auto&, auto, auto) { return std::vector<layers::Hypothesis>(1); };
  options.logits = [&](std::uint64_t chunk, std::span<const float> x_FC, std::int64_t channels) {
    const auto rows = counted_rows(x_FC, channels, cut.chunks[chunk], how.first_channel);
    logits.keep(chunk, rows, channels - how.first_channel);
  };
  const Evaluation heard = evaluate(how.session, cut.corpus, how.tokenizer, options);
  return failures_of_recordings(heard.failures, cut.recordings);
}

/// Decodes the recordings of which a rank has all logits, at once, so that threads share them.
/// Failed ones have no text.
void decode(const ChunkCorpus& cut, const GatheredLogits& logits,
            const std::set<std::uint64_t>& failed, UtteranceScorer& scorer) {
  const MappedFile bytes = logits.map();
  const float* next = reinterpret_cast<const float*>(bytes.bytes().data());
  std::vector<std::uint64_t> ids;
  std::vector<std::span<const float>> joined;
  for (std::size_t chunk = 0; chunk < cut.recordings.size();) {
    const std::uint64_t recording = cut.recordings[chunk];
    const float* const begin = next;
    for (; chunk < cut.recordings.size() && cut.recordings[chunk] == recording; ++chunk)
      next += logits.sizes()[chunk];
    if (failed.contains(recording)) continue;
    ids.push_back(recording);
    joined.emplace_back(begin, next);
  }
  scorer.decode({ids, joined, logits.classes()});
}

/// Returns the recordings that failed on any rank.
std::set<std::uint64_t> failed_anywhere(comm::Communicator& world,
                                        const std::vector<FailedUtterance>& failures) {
  Packer own;
  for (const FailedUtterance& failure : failures) own.add(static_cast<std::int64_t>(failure.id));
  std::set<std::uint64_t> failed;
  for (Unpacker from(gather_to_all(world, own)); !from.empty();)
    failed.insert(static_cast<std::uint64_t>(from.number()));
  return failed;
}

/// Evaluates the recordings that are longer than a chunk.
void evaluate_long(const Corpus& corpus, const std::vector<std::uint64_t>& recordings,
                   const ChunkedEvaluation& how, Evaluation& all) {
  const ChunkCorpus cut = cut_into_chunks(corpus, how.chunks, recordings);
  GatheredLogits logits;
  const std::vector<FailedUtterance> failures = hear(cut, how, logits);
  const RankGrid& grid = how.session.grid();
  const int last_stage = static_cast<int>(grid.pipeline().size()) - 1;
  const int root = grid.rank_of({.stage = last_stage, .replica = 0});
  logits.collect(grid.world(), cut.chunks.size(), root);
  UtteranceScorer scorer(corpus, how.tokenizer, how.joined);
  const std::set<std::uint64_t> failed = failed_anywhere(grid.world(), failures);
  if (grid.world().rank() == root && logits.classes() > 0) decode(cut, logits, failed, scorer);
  scorer.tell_failures(failures);
  std::vector<Recognised> heard = scorer.told().gather(grid.world(), corpus.size());
  if (!heard.empty())  // on rank 0
    for (const std::uint64_t id : recordings) all.utterances[id] = std::move(heard[id]);
  all.failures.insert(all.failures.end(), failures.begin(), failures.end());
}

}  // namespace

Lengths heard_lengths(const Lengths& recordings, const AudioChunks& chunks) {
  std::vector<AudioLength> heard;
  for (std::uint64_t id = 0; id < recordings.size(); ++id)
    if (!chunks.cuts(recordings[id]))
      heard.push_back(recordings[id]);
    else
      for (const AudioChunk& chunk : chunks.cut(recordings[id]))
        heard.push_back({chunk.samples.samples, recordings[id].rate});
  return heard;
}

Evaluation evaluate_chunks(const Corpus& corpus, const ChunkedEvaluation& how) {
  return evaluate_parts(
      corpus,
      {.session = how.session,
       .tokenizer = how.tokenizer,
       .options = how.whole,
       .cuts = [&](const AudioLength& length) { return how.chunks.cuts(length); },
       .evaluate_long = [&](const std::vector<std::uint64_t>& recordings,
                            Evaluation& all) { evaluate_long(corpus, recordings, how, all); }});
}

}  // namespace penstock::runtime
