#pragma once

#include <filesystem>

#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/measure_recordings.h"
#include "runtime/data/index/utterance_index.h"

namespace penstock::runtime {

/// How far an existing index is trusted.
enum class IndexUse {
  ready,    // fully if its manifest has not changed; only unusable recordings are queried again
  checked,  // per recording: those whose size or time of change differs are measured
  fresh,    // not at all: all audio is decoded, and headers are ignored
};

struct IndexOptions {
  std::filesystem::path manifest = {};
  CacheFolder cache = {};
  int threads = 0;  // 0: as many as the process has cores
  IndexUse use = IndexUse::ready;
  bool beside = false;           // writes the index beside the manifest, not into the cache
  bool warns_unkept = true;      // logs a warning if the index can't be kept
  RemoteFiles* files = nullptr;  // opens what lies on servers
  bool texts = true;  // false: recordings need no text; such an index lies in the cache alone
};

/// An index and its path; "" if it could not be written.
struct FoundIndex {
  UtteranceIndex index;
  std::filesystem::path file;
};

/// Returns the index of a manifest. Uses the one beside the manifest (MANIFEST.index) if it is
/// current, else the one in the cache, and builds a new one if neither is. An index is written
/// completely or not at all. While recordings are measured, results are appended to a journal
/// beside the index, so that interrupted indexing resumes. A recording counts once, however many
/// lines name it. `measure` answers queries for recordings, see measure_recordings(). Throws
/// DataError like read_manifest().
[[nodiscard]] FoundIndex find_index(const IndexOptions& options, const Measure& measure);

/// Returns the index of a manifest and measures recordings in this process.
[[nodiscard]] FoundIndex find_index(const IndexOptions& options);

}  // namespace penstock::runtime
