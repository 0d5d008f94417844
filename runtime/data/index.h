#pragma once

#include <filesystem>
#include <string>
#include <vector>

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
  std::filesystem::path output = {};  // where it goes if not beside the manifest; may be empty
  int threads = 0;                    // 0: as many as the process has cores
  IndexUse use = IndexUse::ready;
};

/// An index and where it lies; "" if no place could be written.
struct FoundIndex {
  UtteranceIndex index;
  std::filesystem::path file;
};

/// The index of a manifest, which is made where none is ready. It lies beside the manifest
/// (MANIFEST.index), else in `output`; it is written whole or not at all. While recordings are
/// measured, what is found is kept beside it (MANIFEST.index.journal), so that indexing that was
/// ended goes on where it was. A recording counts once, however many lines name it. `measure`
/// answers for recordings, see measure_recordings(). DataError as read_manifest().
[[nodiscard]] FoundIndex find_index(const IndexOptions& options, const Measure& measure);

/// The same, measured by this process.
[[nodiscard]] FoundIndex find_index(const IndexOptions& options);

/// Where files that belong to the manifest may lie, the best place first: MANIFEST`suffix`.
[[nodiscard]] std::vector<std::filesystem::path> index_places(const IndexOptions& options,
                                                              const std::string& suffix);

/// Writes a file by `fill`, which gives it its bytes, at the first of the places where that can be
/// done; "": at none.
[[nodiscard]] std::filesystem::path write_at_one_of(
    const std::vector<std::filesystem::path>& places,
    const std::function<void(const std::function<void(std::string_view)>&)>& fill);

}  // namespace penstock::runtime
