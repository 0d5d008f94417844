#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/data/index/index.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/data/manifest/manifest.h"

namespace penstock::runtime {

/// Summarises a manifest. Utterances that can't be used count in `rejected` alone.
struct ManifestSummary {
  std::string format;
  std::int64_t utterances = 0;
  double seconds = 0, shortest = 0, longest = 0;  // exact, from the audio
  std::vector<std::int64_t> histogram;  // element i counts utterances of i to i + 1 seconds
  std::map<int, std::int64_t> rates;    // number of utterances by sample rate
  std::map<std::string, std::int64_t> characters;  // occurrences of each (UTF-8) in the texts
  Faults rejected;                                 // bad lines and audio, with reasons
  Faults without_text;                             // empty texts; their utterances are still used
  Faults inexact;  // durations more than 10 ms off; their utterances are still used
};

/// Summarises a manifest, or a URL, by its index (see find_index(); `options.manifest` is ignored).
/// With IndexUse::fresh every recording is decoded, which verifies the manifest. Throws DataError
/// if the manifest can't be read at all.
ManifestSummary summarise(const std::filesystem::path& manifest,
                          IndexOptions options = {.use = IndexUse::checked});

struct MakeOptions {
  std::vector<std::filesystem::path> inputs;  // in any format; several are merged in this order
  std::filesystem::path output;               // JSON lines
  bool absolute_paths = false;                // else paths are relative to the output's folder
  bool skip_bad = false;                      // omits bad utterances instead of refusing
  int threads = 0;               // threads that read recordings; 0: one per core of the process
  CacheFolder cache = {};        // for the inputs' indexes
  RemoteFiles* files = nullptr;  // opens URLs
};

/// Writes one JSON-lines manifest with exact durations (in milliseconds), completely or not at all.
/// Throws DataError if there are bad utterances, which it lists, and skip_bad is false. Throws it
/// too if there are no good utterances, or if the file can't be written.
ManifestSummary make_manifest(const MakeOptions&);

}  // namespace penstock::runtime
