#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/data/manifest/faults.h"

namespace penstock::runtime {

class RemoteFiles;

/// Overlaps of a test set with a training set, by place in the test set's manifest.
struct Leaks {
  std::int64_t utterances = 0;  // size of the test set
  Faults recordings;  // recordings that are a file of training, or have the samples of a training
                      // utterance
  Faults texts;       // texts that equal a transcript of training, ignoring case
};

/// Compares two manifests. A recording is decoded only if an utterance of the other set has as many
/// samples. Texts are compared in Unicode's form NFC, in lower case, with runs of white space as
/// one space; empty texts are ignored. Uses `threads` threads; 0: one per core of the process.
/// `files` opens URLs. Throws DataError if a line or a recording of either manifest can't be used.
[[nodiscard]] Leaks find_leaks(const std::filesystem::path& training,
                               const std::filesystem::path& test, int threads,
                               RemoteFiles* files = nullptr);

}  // namespace penstock::runtime
