#include "runtime/corpus/corpus.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/corpus/corpus_lengths.h"
#include "runtime/corpus/corpus_texts.h"
#include "runtime/data/batching.h"
#include "runtime/job/consistency.h"

namespace penstock::runtime {
namespace {

/// The lines that take part, without texts.
Corpus assemble(const CorpusOptions& options, CorpusLines lines, CorpusLengths found) {
  Corpus corpus;
  for (const std::size_t i : found.kept)
    corpus.entries.push_back(
        {std::move(lines.lines[i].audio), "", {}, std::move(lines.lines[i].where)});
  for (const AudioLength& length : found.lengths)
    corpus.frames.push_back(shape_utterance(0, length, 1, options.features).frames);
  corpus.lengths = std::move(found.lengths);
  corpus.first = std::move(found.first);
  corpus.too_short = found.too_short;
  corpus.too_long = found.too_long;
  return corpus;
}

void add_texts(CorpusTexts texts, const std::vector<std::size_t>& kept, Corpus& corpus) {
  for (std::size_t id = 0; id < kept.size(); ++id) {
    corpus.entries[id] = std::move(texts.entries[kept[id]]);
    corpus.labels.push_back(std::move(texts.labels[kept[id]]));
  }
}

std::uint64_t hash_of(const Corpus& corpus) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const auto add = [&](const void* data, std::size_t bytes) {
    XXH3_64bits_update(state.get(), &bytes, sizeof bytes);
    XXH3_64bits_update(state.get(), data, bytes);
  };
  for (std::size_t i = 0; i < corpus.entries.size(); ++i) {
    const std::string name = corpus.entries[i].audio.filename().string();
    const std::int64_t length[] = {corpus.lengths[i].samples, corpus.lengths[i].rate};
    add(name.data(), name.size());
    add(length, sizeof length);
    if (corpus.first[i]) add(&*corpus.first[i], sizeof *corpus.first[i]);
    add(corpus.labels[i].data(), corpus.labels[i].size() * sizeof(std::int32_t));
  }
  return XXH3_64bits_digest(state.get());
}

/// The faults of texts and audio.
Faults all_of(const CorpusLines& lines, const CorpusLengths& found) {
  Faults all = lines.faults;
  for (const Fault& fault : found.faults.all()) all.add(fault.where, fault.what);
  return all;
}

}  // namespace

double Corpus::seconds() const {
  double sum = 0;
  for (const AudioLength& length : lengths) sum += length.seconds();
  return sum;
}

std::int64_t ctc_frames(const std::vector<std::int32_t>& labels) {
  std::int64_t frames = std::ssize(labels);
  for (std::size_t i = 1; i < labels.size(); ++i) frames += labels[i] == labels[i - 1];
  return frames;
}

Corpus load_corpus(const CorpusOptions& options, const Tokenizer& tokenizer,
                   comm::Communicator& world, const CorpusReaders& readers) {
  if (options.data.bad_utterances != "refuse" && options.data.bad_utterances != "skip")
    throw ConfigError(fmt::format("data.bad_utterances is \"{}\", not refuse or skip",
                                  options.data.bad_utterances));
  const std::string manifest = options.manifest.string();
  CorpusTexts texts;
  CorpusLines lines =
      unpack_lines(read_alike(world, {readers.texts, manifest + ": utterances"}, [&] {
        texts = read_texts(options.manifest, tokenizer);
        return pack_lines(texts);
      }));
  CorpusLengths found =
      unpack_lengths(read_alike(world, {readers.audio, manifest + ": lengths of audio"},
                                [&] { return pack_lengths(find_lengths(options, lines)); }));
  const std::int64_t skipped = throw_or_count(world, all_of(lines, found), options);
  if (found.kept.empty())
    raise_by_rank_0<DataError>(
        world,
        fmt::format("{} has no utterances that can be used: bad {}, too short {}, too long {}",
                    manifest, skipped, found.too_short, found.too_long));
  const std::vector<std::size_t> kept = found.kept;
  Corpus corpus = assemble(options, std::move(lines), std::move(found));
  corpus.skipped = skipped;
  corpus.hash = std::stoull(read_alike(world, {readers.texts, manifest + ": texts"}, [&] {
    add_texts(std::move(texts), kept, corpus);
    return fmt::format("{}", hash_of(corpus));
  }));
  return corpus;
}

Corpus load_corpus(const CorpusOptions& options, const Tokenizer& tokenizer) {
  const auto alone = comm::make_thread_communicators({.ranks = 1});
  return load_corpus(options, tokenizer, *alone.front(), {});
}

}  // namespace penstock::runtime
