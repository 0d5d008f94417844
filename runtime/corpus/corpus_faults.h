#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/job/packing.h"
#include "runtime/text/fit_text.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Summary of utterances whose transcripts have characters without a label.
struct BadTexts {
  std::int64_t utterances = 0;
  std::string summary = {};  // lines for people; "" if there are none
};

/// Collects bad transcripts, so that thousands of them fit into one message.
class BadTextTally {
 public:
  void add(std::string_view where, const UnknownCharacters& unknown);
  /// Summarises the transcripts: the characters, and in how many utterances they occur. If
  /// options.text may be overridden, adds the overrides that fit `each` transcript.
  [[nodiscard]] BadTexts told(const CorpusOptions& options, const EachText& each) const;

 private:
  std::string characters() const;

  std::map<char32_t, std::int64_t> utterances_;  // number of utterances by character
  std::vector<std::string> places_;              // places of the first few
  std::int64_t count_ = 0;
};

/// Throws DataError that lists the faults, which all ranks know. Under data.bad_utterances =
/// "skip", rank 0 logs them, and their number is returned.
std::int64_t throw_or_count(comm::Communicator& world, const Faults& faults, const BadTexts& texts,
                            const CorpusOptions& options);

void pack(const Faults& faults, Packer& message);
[[nodiscard]] Faults unpack_faults(Unpacker& message);

}  // namespace penstock::runtime
