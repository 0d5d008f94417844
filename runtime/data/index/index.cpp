#include "runtime/data/index/index.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/mapped_file.h"
#include "base/quantities.h"
#include "runtime/data/index/index_draft.h"
#include "runtime/data/index/index_journal.h"
#include "runtime/data/index/index_writer.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {
namespace {

using Places = std::vector<std::filesystem::path>;

// An index is built in two passes. IndexDraft reads the manifest into scratch files.
// DraftMeasurement then asks for the lengths of the recordings in rounds, reuses the lengths in
// older indexes and the journal, and appends new ones to the journal. Lines whose recordings can't
// be used become faults. The index is written under a temporary name and renamed, after which the
// journal is removed.

constexpr std::size_t kRound = 1 << 16;  // recordings queried per round
constexpr auto kBetweenReports = std::chrono::seconds(30);

RecordingQuery query_of(const UtteranceIndex& index, const IndexedRecording& recording) {
  return {std::string(index.path(recording)), recording.stamp, recording.length};
}

/// Returns true if a recording that could not be used has changed or can be read again. Only the
/// recordings of faults are asked for, which are few. There are two kinds: a recording without a
/// length may have been repaired, and one with a length may have been replaced, so that it fits its
/// line now.
bool recovered(const UtteranceIndex& index, const Measure& measure) {
  std::set<std::int64_t> waiting;
  for (const IndexFault& fault : index.faults())
    if (fault.recording >= 0) waiting.insert(fault.recording);
  while (!waiting.empty()) {
    std::vector<std::int64_t> asked;
    std::vector<RecordingQuery> queries;
    for (const std::int64_t r : waiting) {
      asked.push_back(r);
      queries.push_back(query_of(index, index.recordings()[static_cast<std::size_t>(r)]));
    }
    const RecordingAnswers answers = measure(queries);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!answers[i]) continue;
      if (answers[i]->length.known() != queries[i].length.known()) return true;
      if (queries[i].length.known() && answers[i]->stamp != queries[i].stamp) return true;
      waiting.erase(asked[i]);
    }
  }
  return false;
}

bool made_of_the_same(const UtteranceIndex& index, const std::filesystem::path& folder,
                      RemoteFiles* files) {
  for (const IndexSource& source : index.sources()) {
    const auto path = source.path.empty() ? folder : folder / source.path;
    if (files != nullptr && !files->is_listing(path)) (void)files->look_up(path);
    if (!unchanged(source, path, index.made())) return false;
  }
  return true;
}

/// Returns MANIFEST`suffix`.
std::filesystem::path beside(const std::filesystem::path& manifest, const char* suffix) {
  return whole_name(manifest).string() + suffix;
}

/// Returns true if the manifest lies on a server. Nothing is written beside it then.
bool is_remote(const IndexOptions& options) {
  return options.files != nullptr && options.files->holds(options.manifest);
}

/// Returns the path of an index in the cache. One without texts has a name of its own.
std::filesystem::path cached_index(const IndexOptions& options) {
  return cached_file(options.cache, options.manifest, options.texts ? ".index" : ".sounds");
}

/// Returns the paths at which an index may lie, in order of preference.
Places places_of(const IndexOptions& options) {
  Places places;
  if (!is_remote(options) && options.texts) places.push_back(beside(options.manifest, ".index"));
  if (!options.cache.path.empty()) places.push_back(cached_index(options));
  return places;
}

/// Returns the manifest's name, for messages.
std::string name_of_manifest(const IndexOptions& options) {
  return options.files == nullptr ? options.manifest.string()
                                  : options.files->name(options.manifest);
}

/// Returns the path at which a new index is written; "" if nowhere.
std::filesystem::path target_of(const IndexOptions& options) {
  return options.beside && !is_remote(options) ? beside(options.manifest, ".index")
                                               : cached_index(options);
}

std::filesystem::path journal_of(const std::filesystem::path& index) {
  return index.empty() ? index : std::filesystem::path(index.string() + ".journal");
}

/// Returns the index at `place` if it is intact. If it is not and `tells` is set, logs that it is
/// not used. Both checks read the whole file. Other ranks, which get the index from this one, need
/// not repeat them.
std::optional<UtteranceIndex> whole_index(const std::filesystem::path& place, bool tells) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(place, error)) return std::nullopt;
  auto index = UtteranceIndex::open(place);
  const std::string fault = !index || !index->intact()
                                ? fmt::format("{}: damaged or of another version", place.string())
                                : index->contradiction();
  if (fault.empty()) return index;
  if (tells) spdlog::warn("{}. It is not used", fault);
  return std::nullopt;
}

/// Collects the lengths that the indexes and journals at these places hold. Lengths are trusted by
/// hash of the path, size and time of change, so they remain useful when the manifest changes.
KnownLengths known_lengths(const Places& places, bool tells) {
  KnownLengths known;
  for (const auto& place : places) {
    read_journal(journal_of(place), known);
    const auto index = whole_index(place, tells);
    if (!index) continue;
    known.reserve(index->recordings().size());
    for (const IndexedRecording& recording : index->recordings())
      if (recording.length.known())
        known.add({recording.path_hash, recording.stamp, recording.length});
  }
  known.sort();
  return known;
}

std::optional<IndexJournal> open_journal(const IndexOptions& options) try {
  const std::filesystem::path file = journal_of(target_of(options));
  if (file.empty()) return std::nullopt;
  if (!options.beside || is_remote(options)) make_cache(options.cache);
  return std::optional<IndexJournal>(std::in_place, file);
} catch (const FileError&) {
  return std::nullopt;
}

/// Queries the lengths of a draft's recordings, in rounds.
class DraftMeasurement {
 public:
  DraftMeasurement(const IndexDraft& draft, KnownLengths known, std::string manifest)
      : draft_(draft), known_(std::move(known)), manifest_(std::move(manifest)) {
    found_.all.resize(draft.recordings());
  }

  DraftRecordings take(const Measure& measure, std::optional<IndexJournal> journal) {
    std::vector<std::size_t> waiting;
    while (next_ < draft_.recordings() || !waiting.empty()) {
      while (waiting.size() < kRound && next_ < draft_.recordings()) waiting.push_back(next_++);
      ask(waiting, measure);
      if (journal && !append(*journal)) journal.reset();
      report(next_ - waiting.size());
    }
    return std::move(found_);
  }

 private:
  /// Queries the waiting recordings. Leaves those that got no answer in `waiting`.
  void ask(std::vector<std::size_t>& waiting, const Measure& measure) {
    std::vector<RecordingQuery> queries;
    for (const std::size_t r : waiting) {
      const IndexDraft::Line& line = draft_.line_of(r);
      RecordingQuery& query = queries.emplace_back();
      query.path = draft_.path(line);
      if (const KnownLength* const known = known_.find(line.path_hash)) {
        query.stamp = known->stamp;
        query.length = known->length;
      }
    }
    const bool known = std::ranges::all_of(
        queries, [](const RecordingQuery& query) { return query.length.known(); });
    if (!known && !std::exchange(said_, true))
      spdlog::info("indexing {} of {}", counted(draft_.recordings(), "recording"), manifest_);
    const RecordingAnswers answers = measure(queries);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (answers[i])
        take(waiting[i], *answers[i], queries[i]);
      else
        left.push_back(waiting[i]);
    }
    waiting = std::move(left);
  }

  void take(std::size_t recording, const RecordingAnswer& answer, const RecordingQuery& query) {
    found_.all[recording] = {answer.stamp, answer.length};
    if (!answer.length.known())
      found_.faults[recording] = answer.fault;
    else if (!query.length.known() || query.stamp != answer.stamp)
      fresh_.push_back({draft_.line_of(recording).path_hash, answer.stamp, answer.length});
  }

  /// Returns false if the journal can't be written, for instance because the disk is full. Indexing
  /// continues without it.
  bool append(IndexJournal& journal) try {
    if (!fresh_.empty()) journal.append(fresh_);
    fresh_.clear();
    return true;
  } catch (const FileError& error) {
    spdlog::warn("{}: what is found is not kept until the end", error.what());
    return false;
  }

  void report(std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now < reported_ + kBetweenReports) return;
    reported_ = now;
    spdlog::info("indexed {} of {} of {}", done, counted(draft_.recordings(), "recording"),
                 manifest_);
  }

  const IndexDraft& draft_;
  KnownLengths known_;
  std::string manifest_;
  DraftRecordings found_;
  std::size_t next_ = 0;
  std::vector<KnownLength> fresh_;  // not yet in the journal
  bool said_ = false;               // the start of measuring was logged
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

/// Explains to the user why an index is not kept.
std::string why_unkept(const CacheFolder& cache) {
  const std::string why =
      cache.path.empty() ? std::string("neither XDG_CACHE_HOME nor HOME names a folder for a cache")
                         : fmt::format("the cache {} can't be written", cache.path.string());
  return fmt::format(
      "{}: the index is not kept, so the next run reads the audio again. Name another folder by "
      "XDG_CACHE_HOME, or write the index beside the manifest by `penstock data index`",
      why);
}

/// Builds an index in a scratch file, for this run only.
FoundIndex unkept_index(const IndexDraft& draft, const DraftRecordings& recordings) {
  ScratchFile scratch;
  write_index(draft, recordings, [&](std::string_view bytes) { scratch.write(bytes); });
  return {UtteranceIndex::of(scratch.map()).value(), {}};
}

/// Writes the index to its place. Returns false if it can't be written.
bool written(const IndexOptions& options, const IndexDraft& draft,
             const DraftRecordings& recordings) try {
  const auto fill = [&](const auto& write) { write_index(draft, recordings, write); };
  const std::filesystem::path file = target_of(options);
  if (!options.beside || is_remote(options)) return write_cached(options.cache, file, fill);
  write_whole(file, fill);
  return true;
} catch (const FileError&) {
  return false;
}

FoundIndex make_index(const IndexOptions& options, const Measure& measure) {
  const std::filesystem::path file = target_of(options);
  const IndexDraft draft(options.manifest, options.files, options.texts);
  KnownLengths known;
  if (options.use != IndexUse::fresh)
    known = known_lengths(places_of(options), options.use != IndexUse::ready);
  const DraftRecordings recordings =
      DraftMeasurement(draft, std::move(known), name_of_manifest(options))
          .take(measure, open_journal(options));
  if (written(options, draft, recordings)) {
    std::error_code gone;
    std::filesystem::remove(journal_of(file), gone);
    if (auto index = UtteranceIndex::open(file)) return {std::move(*index), file};
  }
  if (options.warns_unkept && !options.beside) spdlog::warn("{}", why_unkept(options.cache));
  return unkept_index(draft, recordings);
}

}  // namespace

// A ready index is one that is whole, whose manifest is unchanged, and whose faults still hold. The
// first such place is taken. Otherwise a new index is made, which reuses the lengths of the old
// ones.
FoundIndex find_index(const IndexOptions& options, const Measure& measure) {
  if (options.use == IndexUse::ready)
    for (const auto& place : places_of(options))
      if (auto index = whole_index(place, true);
          index && made_of_the_same(*index, folder_of(options.manifest), options.files) &&
          !recovered(*index, measure)) {
        if (place != beside(options.manifest, ".index")) mark_used(place);
        return {std::move(*index), place};
      }
  return make_index(options, measure);
}

FoundIndex find_index(const IndexOptions& options) {
  const RecordingMeasure measuring{folder_of(options.manifest), options.threads,
                                   options.use == IndexUse::fresh, options.files};
  return find_index(options, [&](std::span<const RecordingQuery> queries) {
    return measure_recordings(queries, measuring);
  });
}

}  // namespace penstock::runtime
