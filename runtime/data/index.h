#pragma once

#include <filesystem>

#include "runtime/data/cache_folder.h"
#include "runtime/data/measure_recordings.h"
#include "runtime/data/utterance_index.h"

namespace penstock::runtime {

/// How far an index that is there is believed.
enum class IndexUse {
  ready,  // as long as its manifest has not changed; recordings that can't be used are tried again
  checked,  // recording by recording: those of other size or time of change are measured
  fresh,    // not at all: all audio is decoded, whatever headers say
};

struct IndexOptions {
  std::filesystem::path manifest = {};
  CacheFolder cache = {};
  int threads = 0;  // 0: as many as the process has cores
  IndexUse use = IndexUse::ready;
  bool beside = false;       // it goes beside the manifest, not into the cache
  bool tells_unkept = true;  // logs that it can't be kept
};

/// An index and where it lies; "" if it could not be written.
struct FoundIndex {
  UtteranceIndex index;
  std::filesystem::path file;
};

/// The index of a manifest: that beside it (MANIFEST.index) if it is current, else that in the
/// cache, which is made where none is current. It is written whole or not at all. While recordings
/// are measured, what is found is kept in a journal beside it, so that indexing that was ended goes
/// on where it was. A recording counts once, however many lines name it. `measure` answers for
/// recordings, see measure_recordings(). DataError as read_manifest().
[[nodiscard]] FoundIndex find_index(const IndexOptions& options, const Measure& measure);

/// The same, measured by this process.
[[nodiscard]] FoundIndex find_index(const IndexOptions& options);

}  // namespace penstock::runtime
