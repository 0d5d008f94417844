#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/data/faults.h"

namespace penstock::runtime {

/// What the utterances of a test set share with those of a training set, by their place in the test
/// set's manifest.
struct Leaks {
  std::int64_t utterances = 0;  // of the test set
  Faults recordings;  // that lie in a file of training, or have the samples of an utterance
  Faults texts;       // that are a transcript of training, whatever their case
};

/// Compares two manifests. Recordings are decoded only where an utterance of the other set has as
/// many samples. Texts are compared in Unicode's form C, in small letters, runs of white space as
/// one space; empty ones are not. Takes so many threads, 0: as many as the process has cores.
/// DataError if a line or recording of either can't be used.
[[nodiscard]] Leaks find_leaks(const std::filesystem::path& training,
                               const std::filesystem::path& test, int threads);

}  // namespace penstock::runtime
