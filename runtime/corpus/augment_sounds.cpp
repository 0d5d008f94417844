#include "runtime/corpus/augment_sounds.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/threads.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/shared_index.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"

// Noises and impulse responses are read as corpora are: one rank finds an index, all ranks map it,
// and lengths are checked before the first step. They need no texts. Recordings that changed are
// measured again at each start, for `penstock data index` makes indices of corpora alone. Every
// rank finds the same faults in the index, so all throw or none.

namespace penstock::runtime {
namespace {

/// The use of a list of recordings, and the bounds of their lengths in seconds. Beyond them, a
/// recording is probably none of that kind.
struct SoundKind {
  std::string_view key;   // "augment.noise"
  std::string_view name;  // "a noise"
  double shortest, longest;
};

constexpr double kShortestNoise = 0.1;  // a shorter one is heard as a tone, once it is repeated
constexpr double kLongestResponse = 10;
constexpr SoundKind kNoise = {"augment.noise", "a noise", kShortestNoise,
                              std::numeric_limits<double>::infinity()};
constexpr SoundKind kRoom = {"augment.rooms", "an impulse response", 0, kLongestResponse};

/// Describes why a recording of that length can't be used; "" if it can.
std::string length_fault(const SoundKind& kind, const AudioLength& length) {
  const double seconds = length.seconds();
  if (seconds < kind.shortest)
    return fmt::format("lasts {:g} s, but {} has at least {:g} s", seconds, kind.name,
                       kind.shortest);
  if (seconds > kind.longest)
    return fmt::format("lasts {:g} s, but {} has at most {:g} s: noises belong to augment.noise",
                       seconds, kind.name, kind.longest);
  return {};
}

/// Adds what tells two recordings apart, wherever they lie.
void add_to(StreamHash& hash, const UtteranceIndex& index, std::size_t place) {
  const std::string_view path = index.path(place);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto member = tar_member(name);
  const AudioLength length = index.length(place);
  const std::array<std::int64_t, 3> numbers = {length.samples, length.rate,
                                               index.first(place).value_or(-1)};
  hash.add(member ? std::string_view(member->name) : name);
  hash.add({"\0", 1});
  hash.add({reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
}

SoundList sound_list(const SharedIndex& shared, std::vector<std::size_t> places,
                     const std::shared_ptr<RemoteFiles>& files) {
  StreamHash hash;
  for (const std::size_t place : places) add_to(hash, shared.index, place);
  SoundList sounds{.count = places.size(), .files = files};
  sounds.hash = fmt::format("{}", hash.digest());
  sounds.at = [index = shared.index, folder = shared.folder, files,
               places = std::make_shared<const std::vector<std::size_t>>(std::move(places))](
                  std::uint64_t id) {
    const std::size_t place = places->at(static_cast<std::size_t>(id));
    const std::string name(index.path(place));
    return AudioSource{files ? files->path(folder, name) : folder / name, index.length(place),
                       index.first(place)};
  };
  return sounds;
}

/// Throws the faults, or counts them under data.bad_utterances = "skip".
void settle(const Faults& faults, const SoundKind& kind, const CorpusOptions& options,
            const comm::Communicator& world) {
  if (faults.empty()) return;
  const std::string all = fmt::format("{}: {} of {}", kind.key, counted(faults.size(), "recording"),
                                      options.manifest.string());
  if (options.data.bad_utterances != "skip")
    throw DataError(fmt::format("{} cannot be used:{}\n{}", all, faults.listed(), options.advice));
  if (world.rank() == 0) spdlog::warn("left out: {}:{}", all, faults.listed());
}

SoundList load_sounds(const SoundKind& kind, const CorpusOptions& options,
                      comm::Communicator& world, const CorpusReaders& readers) {
  const SharedIndex shared = share_index(options, world, readers);
  Faults faults;
  for (const IndexFault& fault : shared.index.faults()) faults.add(fault.where, fault.what);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < shared.index.size(); ++place) {
    const std::string fault = length_fault(kind, shared.index.length(place));
    if (fault.empty())
      places.push_back(place);
    else
      faults.add(std::string(shared.index.where(place)), fault);
  }
  settle(faults, kind, options, world);
  if (places.empty())
    throw DataError(fmt::format("{}: {} has no recording that can be used", kind.key,
                                options.manifest.string()));
  return sound_list(shared, std::move(places), options.files);
}

/// Loads the recordings of a manifest, which may be a URL; none if it has no name.
SoundList load_named(const SoundKind& kind, const std::string& manifest,
                     const CorpusOptions& reading, comm::Communicator& world,
                     const CorpusReaders& readers) {
  if (manifest.empty()) return {};
  CorpusOptions options = reading;
  options.texts = false;
  options.warns_unkept = false;
  options.manifest = manifest;
  if (options.files) options.manifest = options.files->path(manifest);
  try {
    return load_sounds(kind, options, world, readers);
  } catch (const DataError& error) {
    const std::string what =
        options.files ? options.files->with_names(error.what()) : std::string(error.what());
    throw DataError(what.starts_with(kind.key) ? what : fmt::format("{}: {}", kind.key, what));
  }
}

}  // namespace

AugmentSounds load_augment_sounds(const configs::AugmentConfig& augment,
                                  const CorpusOptions& reading, comm::Communicator& world,
                                  const CorpusReaders& readers) {
  return {load_named(kRoom, augment.rooms, reading, world, readers),
          load_named(kNoise, augment.noise, reading, world, readers)};
}

AugmentSounds load_augment_sounds(const configs::AugmentConfig& augment,
                                  const CorpusOptions& reading) {
  const auto alone = comm::make_thread_communicators({.ranks = 1});
  return load_augment_sounds(augment, reading, *alone.front(), {});
}

Corpus load_augmented_corpus(const configs::Config& config,
                             const partition::LayerSequence& sequence, const Tokenizer& tokenizer) {
  Corpus corpus = planned_corpus(config, sequence, tokenizer, CorpusUse::training);
  corpus.sounds = load_augment_sounds(config.augment,
                                      corpus_options(config, sequence, {}, CorpusUse::training));
  return corpus;
}

}  // namespace penstock::runtime
