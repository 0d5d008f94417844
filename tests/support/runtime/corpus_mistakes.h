#pragma once

#include <map>
#include <string>
#include <vector>

namespace penstock::test {

/// Files of a corpus: their bytes by their paths.
using CorpusFiles = std::map<std::string, std::string>;

/// A mistake with a corpus, and what is said of it.
struct Mistake {
  std::string typed;                              // path of the manifest
  std::vector<std::string> said;                  // parts of the message
  CorpusFiles changed = {};                       // files written over those of the corpus
  std::vector<std::string> removed = {};          // files and folders
  std::map<std::string, std::string> links = {};  // targets of symbolic links
};

/// Tests that a corpus is accepted by this name, with as many utterances.
void expect_accepted(const CorpusFiles& corpus, const std::string& typed, std::int64_t utterances);

/// Lays out the corpus for each mistake, and tests that `penstock data verify` would refuse it in
/// these words.
void expect_refused(const CorpusFiles& corpus, const std::vector<Mistake>& mistakes);

/// Returns a WAV file of one second at 8000 Hz.
std::string sound_bytes();

/// Returns what a server sends instead of a file.
std::string web_page();

/// Returns what a clone without Git LFS has instead of a file.
std::string lfs_pointer();

/// Returns text of ASCII as UTF-16 with a byte order mark, as Windows' programs write it.
std::string in_utf16(const std::string& text);

}  // namespace penstock::test
