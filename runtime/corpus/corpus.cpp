#include "runtime/corpus/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/corpus/filter_utterances.h"
#include "runtime/corpus/language_numbers.h"
#include "runtime/corpus/shared_index.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/job/consistency.h"
#include "runtime/text/tokenizer.h"

// A corpus is a view of a manifest's index, in which bad utterances are skipped. It is loaded in
// steps that all ranks take together:
//   1. Every rank gets the index, mapped from a file (share_index).
//   2. The first reader of texts decides which utterances can be used. It needs the labels of all
//      of them for that, so the other ranks take over its answer.
//   3. Faults are thrown or counted. Every rank knows them, so all throw or none.
//   4. The members become functions that look up the index when they are called.
//   5. If several ranks read texts, they compare the labels of a sample, because a tokenizer or a
//      file that differs between machines would spoil the training in silence.
// Memory is 4 bytes for each utterance that is left out, and nothing for the others.

namespace penstock::runtime {
namespace {

constexpr std::size_t kCompared = 1000;  // utterances whose labels the readers compare

/// Returns the XXH3 of the labels of some evenly spaced utterances.
std::string sampled_labels(const Corpus& corpus) {
  StreamHash hash;
  const std::size_t step = std::max<std::size_t>(1, corpus.size() / kCompared);
  for (std::size_t id = 0; id < corpus.size(); id += step) {
    const std::vector<std::int32_t> labels = corpus.labels(id);
    hash.add({reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof labels.front()});
  }
  return fmt::format("{}", hash.digest());
}

/// Builds the corpus of the usable utterances of an index. `tokenizer` is null if the rank reads no
/// texts.
Corpus assemble(const UtteranceIndex& index, FilteredUtterances weighed,
                const std::filesystem::path& folder, const CorpusOptions& options,
                const Tokenizer* tokenizer) {
  Corpus corpus;
  const std::shared_ptr<RemoteFiles>& files = options.files;
  corpus.files = files;
  corpus.too_short = weighed.too_short;
  corpus.too_long = weighed.too_long;
  corpus.most_labels = weighed.most_labels;
  corpus.all_labels = weighed.all_labels;
  corpus.hash = weighed.hash;
  const auto left_out = std::make_shared<const LeftOut>(std::move(weighed.left_out));
  corpus.lengths = index.lengths(left_out);
  corpus.audio = [index, left_out, folder, files](std::uint64_t id) {
    const std::uint64_t u = left_out->place_of(id);
    const std::string name(index.path(u));
    return AudioSource{files ? files->path(folder, name) : folder / name, index.length(u),
                       index.first(u)};
  };
  if (tokenizer == nullptr) return corpus;
  corpus.text = [index, left_out](std::uint64_t id) {
    return std::string(index.text(left_out->place_of(id)));
  };
  corpus.labels = [index, left_out, tokenizer](std::uint64_t id) {
    return tokenizer->encode(index.text(left_out->place_of(id)));
  };
  corpus.where = [index, left_out](std::uint64_t id) {
    return std::string(index.where(left_out->place_of(id)));
  };
  if (!options.languages.empty())
    corpus.prompt = [index, left_out, languages = options.languages](std::uint64_t id) {
      return language_number(languages, index.language(left_out->place_of(id)));
    };
  return corpus;
}

}  // namespace

double Corpus::seconds() const {
  double sum = 0;
  for (std::size_t id = 0; id < lengths.size(); ++id) sum += lengths[id].seconds();
  return sum;
}

double Corpus::labels_per_second() const {
  const double audio = seconds();
  return audio > 0 ? static_cast<double>(all_labels) / audio : 0;
}

std::string utterance_name(const std::vector<CorpusPart>& parts, std::uint64_t id) {
  std::uint64_t first = 0;
  for (const CorpusPart& part : parts) {
    if (id < first + part.utterances)
      return fmt::format("{}: utterance {}", part.manifest, id - first);
    first += part.utterances;
  }
  return fmt::format("utterance {}", id);
}

namespace {

/// Loads a corpus whose manifest is a path.
Corpus load_by_path(const CorpusOptions& options, const Tokenizer& tokenizer,
                    comm::Communicator& world, const CorpusReaders& readers) {
  if (options.data.bad_utterances != "refuse" && options.data.bad_utterances != "skip")
    throw ConfigError(fmt::format("data.bad_utterances is \"{}\", not refuse or skip",
                                  options.data.bad_utterances));
  const std::string manifest = options.manifest.string();
  const auto [index, folder] = share_index(options, world, readers);
  FilteredUtterances weighed = unpack_weighed(read_alike(
      world, {{readers.texts.front()}, manifest + ": utterances"},
      [&, &index = index] { return pack(filter_utterances(options, index, tokenizer)); }));
  const std::int64_t skipped = throw_or_count(world, weighed.faults, weighed.texts, options);
  if (weighed.left_out.size() == index.size())
    throw DataError(
        fmt::format("{} has no utterances that can be used: bad {}, too short {}, too long {}",
                    manifest, skipped, weighed.too_short, weighed.too_long));
  const bool reads = std::ranges::count(readers.texts, world.rank()) > 0;
  Corpus corpus =
      assemble(index, std::move(weighed), folder, options, reads ? &tokenizer : nullptr);
  corpus.skipped = skipped;
  if (readers.texts.size() > 1)
    (void)read_alike(world, {readers.texts, manifest + ": texts"},
                     [&] { return sampled_labels(corpus); });
  return corpus;
}

}  // namespace

Corpus load_corpus(const CorpusOptions& options, const Tokenizer& tokenizer,
                   comm::Communicator& world, const CorpusReaders& readers) {
  if (!options.files) return load_by_path(options, tokenizer, world, readers);
  CorpusOptions by_path = options;
  by_path.manifest = options.files->path(options.manifest.string());
  try {
    return load_by_path(by_path, tokenizer, world, readers);
  } catch (const DataError& error) {
    throw DataError(options.files->with_names(error.what()));
  }
}

Corpus load_corpus(const CorpusOptions& options, const Tokenizer& tokenizer) {
  const auto alone = comm::make_thread_communicators({.ranks = 1});
  return load_corpus(options, tokenizer, *alone.front(), {});
}

}  // namespace penstock::runtime
