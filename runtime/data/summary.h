#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/data/faults.h"
#include "runtime/data/index.h"
#include "runtime/data/manifest.h"

namespace penstock::runtime {

/// What a manifest holds. Utterances that can't be used count in `rejected` alone.
struct ManifestSummary {
  std::string format;
  std::int64_t utterances = 0;
  double seconds = 0, shortest = 0, longest = 0;   // exact, from the audio
  std::vector<std::int64_t> histogram;             // [i]: utterances of i to i + 1 seconds
  std::map<int, std::int64_t> rates;               // utterances by samples a second
  std::map<std::string, std::int64_t> characters;  // times that each (UTF-8) occurs in the texts
  Faults rejected;                                 // bad lines and audio, with reasons
  Faults without_text;  // texts that are empty; such an utterance is still used
  Faults inexact;       // durations that are more than 10 ms off; such an utterance is still used
};

/// What the manifest's index says (see find_index(); `options.manifest` is not used). With
/// IndexUse::fresh every recording is read: this is what verifies a manifest. DataError if the
/// manifest can't be read at all.
ManifestSummary summarise(const std::filesystem::path& manifest,
                          IndexOptions options = {.use = IndexUse::checked});

struct MakeOptions {
  std::vector<std::filesystem::path> inputs;  // of any format; several are merged in this order
  std::filesystem::path output;               // JSON lines
  bool absolute_paths = false;                // else relative to the output's folder
  bool skip_bad = false;                      // leaves bad utterances out instead of refusing
  int threads = 0;         // that read recordings; 0: as many as the process has cores
  CacheFolder cache = {};  // for the inputs' indexes
};

/// Writes one JSON-lines manifest with exact durations (milliseconds), as a whole or not at all.
/// DataError that lists the bad utterances, if there are no good ones, or if it can't be written.
ManifestSummary make_manifest(const MakeOptions&);

}  // namespace penstock::runtime
