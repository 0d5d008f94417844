#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/atomic_file.h"
#include "configs/config.h"
#include "runtime/corpus/training_preview.h"

namespace penstock::tools {

/// A PreviewHead is the text at the top of a preview's page.
struct PreviewHead {
  std::string title;  // for people: the recipe's name
  std::int64_t epoch = 0;
  std::uint64_t shown = 0, draws = 0;
};

/// Writes previewed utterances into a folder, one after another: index.html, and WAV files whose
/// names are numbers ("01.wav", and "01-recorded.wav" where training changes the samples). The page
/// refers to nothing but these files. Not thread-safe.
class PreviewFolder {
 public:
  /// Begins the page. Throws FileError.
  PreviewFolder(std::filesystem::path folder, const configs::Config& config,
                const PreviewHead& head);

  /// Adds an utterance to the page and writes its WAV files. Throws FileError.
  void add(const runtime::PreviewedUtterance& utterance);

  /// Completes the page. Throws FileError.
  void finish();

 private:
  std::filesystem::path folder_;
  configs::Config config_;
  AtomicFile page_;
  std::string rest_;  // of the page, after the utterances
  int added_ = 0;
};

}  // namespace penstock::tools
