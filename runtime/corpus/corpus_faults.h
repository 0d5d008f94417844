#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/faults.h"
#include "runtime/job/packing.h"
#include "runtime/text/fit_text.h"
#include "runtime/text/unknown_characters.h"

namespace penstock::runtime {

/// Utterances whose transcripts have characters without a label.
struct BadTexts {
  std::int64_t utterances = 0;
  std::string summary = {};  // lines for people; "" if there are none
};

/// Collects them, so that thousands are told at once.
class BadTextTally {
 public:
  void add(std::string_view where, const UnknownCharacters& unknown);
  /// Which characters, how many utterances, and the overrides that fit `each` transcript, where
  /// options.text may be overridden.
  [[nodiscard]] BadTexts told(const CorpusOptions& options, const EachText& each) const;

 private:
  std::string characters() const;

  std::map<char32_t, std::int64_t> utterances_;  // that have each
  std::vector<std::string> places_;              // of the first few
  std::int64_t count_ = 0;
};

/// Ends what all ranks know of a corpus's faults: DataError, or, under
/// data.bad_utterances = "skip", how many there are; rank 0 logs them.
std::int64_t throw_or_count(comm::Communicator& world, const Faults& faults, const BadTexts& texts,
                            const CorpusOptions& options);

void pack(const Faults& faults, Packer& message);
[[nodiscard]] Faults unpack_faults(Unpacker& message);

}  // namespace penstock::runtime
