#include "runtime/corpus/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/audio/segment.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/text/tokenizer.h"

// A test utterance leaks if training has its recording. There are two ways to tell. A file that
// both manifests name is found by its canonical path. A copy under another name is found by its
// samples: equal samples have equal lengths, so only utterances with a counterpart of the same
// length and rate are decoded and hashed. Of two disjoint sets that is a small share. A copy that
// was converted or cut anew is not found.
//
// Texts are a weaker sign, because people say the same things, so they are reported apart. All
// lookups are by hash tables, which keep the first utterance in training's order: the report does
// not depend on threads.

namespace penstock::runtime {
namespace {

/// Samples and sample rate. Utterances with equal extents may have the same audio.
using Extent = std::pair<std::int64_t, int>;

/// The utterances of a manifest.
struct Utterances {
  std::vector<ManifestEntry> entries;
  std::vector<SampleRange> samples;  // ranges within the recordings
  std::vector<int> rates;
  RemoteFiles* files = nullptr;
  std::unordered_map<std::size_t, std::string> digests = {};  // hashes of the samples, where needed

  Extent extent(std::size_t i) const { return {samples[i].samples, rates[i]}; }
};

/// Measures the samples and the rate of utterance `i`.
void measure(Utterances& of, std::size_t i) {
  const ManifestEntry& entry = of.entries[i];
  const LocalFile local = open_by(of.files, entry.audio);
  const AudioLength length = audio_length(local.path);
  of.rates[i] = length.rate;
  of.samples[i] = entry.offset ? samples_of({*entry.offset, entry.duration}, length)
                               : SampleRange{0, length.samples};
}

Utterances read_utterances(std::filesystem::path manifest, int threads, RemoteFiles* files) {
  Faults faults;
  std::optional<LocalFile> kept;  // in the cache meanwhile
  if (files != nullptr) {
    kept.emplace(files->open_manifest(manifest.string()));
    manifest = kept->path;
  }
  Utterances read{read_manifest(manifest, faults, files), {}, {}, files};
  const std::size_t count = read.entries.size();
  read.samples.resize(count);
  read.rates.resize(count);
  std::vector<std::string> wrong(count);
  parallel_for(count, threads, [&](std::size_t i) {
    try {
      measure(read, i);
    } catch (const DataError& error) {
      wrong[i] = error.what();
    }
  });
  for (std::size_t i = 0; i < count; ++i)
    if (!wrong[i].empty()) faults.add(read.entries[i].where, wrong[i]);
  faults.require_none(fmt::format("{}: {} cannot be used", manifest.string(),
                                  counted(static_cast<std::int64_t>(faults.size()), "utterance")));
  return read;
}

/// Returns a unique name of a file, however a manifest spells it.
std::string file_of(const ManifestEntry& entry) {
  std::error_code ignored;  // the file has been read already
  const auto file = std::filesystem::canonical(file_holding(entry.audio), ignored);
  if (file.empty()) return entry.audio.string();
  const auto member = tar_member(entry.audio.native());
  return member ? file.string() + ":" + member->name : file.string();
}

std::string digest_of(const ManifestEntry& entry, const SampleRange& samples, RemoteFiles* files) {
  const LocalFile local = open_by(files, entry.audio);
  const Audio sound = entry.offset ? read_audio(local.path, samples) : read_audio(local.path);
  Xxh3 hash;
  hash.add(std::as_bytes(std::span(sound.samples)));
  return hash.digest();
}

void add_digests(Utterances& of, const std::vector<std::size_t>& places, int threads) {
  std::vector<std::string> digests(places.size());
  parallel_for(places.size(), threads, [&](std::size_t i) {
    digests[i] = digest_of(of.entries[places[i]], of.samples[places[i]], of.files);
  });
  for (std::size_t i = 0; i < places.size(); ++i) of.digests[places[i]] = std::move(digests[i]);
}

/// Returns the utterances of `of` that have the same extent as one of `others`.
std::vector<std::size_t> as_long_as(const Utterances& of, const Utterances& others) {
  std::set<Extent> known;
  for (std::size_t i = 0; i < others.entries.size(); ++i) known.insert(others.extent(i));
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < of.entries.size(); ++i)
    if (known.contains(of.extent(i))) found.push_back(i);
  return found;
}

/// Finds test recordings that are a file of training or have the samples of one. Samples are
/// compared by hashes, and only those of utterances with equal extents are decoded.
void find_recordings(Utterances& training, Utterances& test, int threads, Faults& found) {
  // Index training by file and by samples, with the first utterance of each.
  std::unordered_map<std::string, std::size_t> files, sounds;
  add_digests(training, as_long_as(training, test), threads);
  add_digests(test, as_long_as(test, training), threads);
  for (std::size_t i = 0; i < training.entries.size(); ++i)
    files.try_emplace(file_of(training.entries[i]), i);
  for (const auto& [place, digest] : training.digests) {
    const auto [known, fresh] = sounds.try_emplace(digest, place);
    if (!fresh) known->second = std::min(known->second, place);
  }
  for (std::size_t i = 0; i < test.entries.size(); ++i) {
    const ManifestEntry& entry = test.entries[i];
    if (const auto file = files.find(file_of(entry)); file != files.end()) {
      found.add(entry.where,
                fmt::format("{} is a recording of {} as well", manifest_name(entry.audio),
                            training.entries[file->second].where));
      continue;
    }
    const auto digest = test.digests.find(i);
    const auto sound = digest == test.digests.end() ? sounds.end() : sounds.find(digest->second);
    if (sound != sounds.end())
      found.add(entry.where,
                fmt::format("{} has the samples of {} ({})", manifest_name(entry.audio),
                            training.entries[sound->second].where,
                            manifest_name(training.entries[sound->second].audio)));
  }
}

/// Finds test transcripts that occur in training, after normalisation.
void find_texts(const Utterances& training, const Utterances& test, Faults& found) {
  const configs::TextRules rules{configs::Normalisation::nfc, configs::Fold::unicode_lower, {}};
  const auto compared = [&](const ManifestEntry& entry) {
    return to_utf8(folded_text(entry.text, rules));
  };
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < training.entries.size(); ++i)
    known.try_emplace(compared(training.entries[i]), i);
  for (const ManifestEntry& entry : test.entries) {
    const std::string text = compared(entry);
    const auto same = known.find(text);
    if (text.empty() || same == known.end()) continue;
    found.add(entry.where, fmt::format("\"{}\" is a text of {} as well", text,
                                       training.entries[same->second].where));
  }
}

}  // namespace

Leaks find_leaks(const std::filesystem::path& training, const std::filesystem::path& test,
                 int threads, RemoteFiles* files) {
  Utterances trained = read_utterances(training, threads, files);
  Utterances tested = read_utterances(test, threads, files);
  Leaks leaks;
  leaks.utterances = std::ssize(tested.entries);
  find_recordings(trained, tested, threads, leaks.recordings);
  find_texts(trained, tested, leaks.texts);
  return leaks;
}

}  // namespace penstock::runtime
