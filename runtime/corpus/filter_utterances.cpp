#include "runtime/corpus/filter_utterances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/corpus/label_needs.h"
#include "runtime/corpus/language_numbers.h"
#include "runtime/data/batch/batching.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

/// Checks lengths against the bounds and against labels.
class LengthFilter {
 public:
  explicit LengthFilter(const CorpusOptions& options)
      : options_(options),
        training_(options.use == CorpusUse::training),
        fastest_(training_ && !options.data.speeds.empty() ? std::ranges::max(options.data.speeds)
                                                           : 1),
        slowest_(training_ && !options.data.speeds.empty() ? std::ranges::min(options.data.speeds)
                                                           : 1),
        shapes_(options.features) {}

  // An evaluation keeps every length, so that its error rates are those of the whole set.
  bool in_bounds(const AudioLength& length, FilteredUtterances& weighed) const {
    if (!training_) return true;
    const bool too_short = length.seconds() < options_.data.min_seconds;
    const bool too_long =
        options_.data.max_seconds > 0 && length.seconds() > options_.data.max_seconds;
    weighed.too_short += too_short;
    weighed.too_long += too_long;
    return !too_short && !too_long;
  }

  /// Explains why labels with this need don't fit the audio; "" if they fit.
  std::string fault_of(const AudioLength& length, const LabelNeed& need) try {
    const bool in_parts = options_.heard_in_parts && options_.heard_in_parts(length);
    const std::int64_t most = options_.loss.most_labels;
    if (most > 0 && need.labels > most && !in_parts)
      return fmt::format(
          "its text of {} is longer than the decoder's positions, which reach for {} "
          "(decoder.max_positions)",
          counted(need.labels, "label"), most);
    if (slowest_ != fastest_) held_by(shapes_(0, length, slowest_).frames);  // fits the model
    const std::int64_t held = held_by(shapes_(0, length, fastest_).frames);
    if (need.frames <= held) return {};
    return fmt::format("its text of {} needs {} at the loss, but its {:f} s make {}{}",
                       counted(need.labels, "label"), counted(need.frames, "frame"),
                       length.seconds(), held,
                       fastest_ == 1 ? "" : fmt::format(" at speed {:f}", fastest_));
  } catch (const DataError& error) {
    return error.what();
  } catch (const ShapeError& misfit) {
    return fmt::format("its {:f} s do not fit the model: {}", length.seconds(), misfit.what());
  }

 private:
  /// Returns the frames at the loss. Cached, because utterances share few distinct numbers of
  /// frames.
  std::int64_t held_by(std::int64_t frames) {
    const auto found = held_.find(frames);
    if (found != held_.end()) return found->second;
    return held_.emplace(frames, options_.output_frames(frames)).first->second;
  }

  const CorpusOptions& options_;
  bool training_;
  double fastest_, slowest_;
  UtteranceShapes shapes_;
  std::unordered_map<std::int64_t, std::int64_t> held_;
};

/// Returns the error of encoding a bad text. Unknown characters go to the tally instead.
std::string fault_of_text(const CorpusOptions& options, const Tokenizer& tokenizer,
                          const UtteranceIndex& index, std::size_t u, BadTextTally& tally) try {
  (void)encode_transcript(options, tokenizer, index.text(u));
  return {};
} catch (const UnknownCharacters& unknown) {
  tally.add(index.where(u), unknown);
  return {};
} catch (const DataError& error) {
  return error.what();
}

/// Explains why an utterance has no prompt; "" if it has one.
std::string language_fault(const CorpusOptions& options, std::string_view language) try {
  if (!options.languages.empty()) (void)language_number(options.languages, language);
  return {};
} catch (const DataError& error) {
  return error.what();
}

}  // namespace

/// Checks every utterance of an index in one pass. A text that can't be encoded is bad whatever its
/// length. Other utterances are left out by length first, and then checked for frames. The corpus
/// is hashed only if it will be used.
FilteredUtterances filter_utterances(const CorpusOptions& options, const UtteranceIndex& index,
                                     const Tokenizer& tokenizer) {
  FilteredUtterances weighed;
  for (const IndexFault& fault : index.faults()) weighed.faults.add(fault.where, fault.what);
  LabelNeeds needs(options, index, tokenizer);
  LengthFilter filter(options);
  BadTextTally texts;
  for (std::size_t u = 0; u < index.size(); ++u) {
    const LabelNeed& need = needs[u];
    const bool bad = need.frames == LabelNeed::kBad;
    const AudioLength length = index.length(u);
    if (!bad && !filter.in_bounds(length, weighed)) {
      weighed.left_out.add(u);
      continue;
    }
    std::string fault = language_fault(options, index.language(u));
    if (fault.empty())
      fault =
          bad ? fault_of_text(options, tokenizer, index, u, texts) : filter.fault_of(length, need);
    if (!fault.empty()) weighed.faults.add(std::string(index.where(u)), fault);
    if (bad || !fault.empty()) {
      weighed.left_out.add(u);
    } else {
      weighed.most_labels = std::max<std::int64_t>(weighed.most_labels, need.labels);
      weighed.all_labels += need.labels;
    }
  }
  weighed.texts = texts.told(options, [&](const auto& use) {
    for (std::size_t u = 0; u < index.size(); ++u) use(index.text(u));
  });
  const bool faulty = !weighed.faults.empty() || weighed.texts.utterances > 0;
  const bool refused = faulty && options.data.bad_utterances != "skip";
  if (!refused && weighed.left_out.size() < index.size())
    weighed.hash = needs.corpus_hash(weighed.left_out, [&] {
      return hash_of_corpus(index, weighed.left_out, tokenizer, options);
    });
  return weighed;
}

std::string pack(const FilteredUtterances& weighed) {
  Packer message;
  message.add(weighed.too_short);
  message.add(weighed.too_long);
  message.add(weighed.most_labels);
  message.add(weighed.all_labels);
  message.add(static_cast<std::int64_t>(weighed.hash));
  pack(weighed.faults, message);
  message.add(weighed.texts.utterances);
  message.add(weighed.texts.summary);
  const std::vector<std::uint32_t>& ids = weighed.left_out.ids();
  message.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids.front()});
  return message.bytes();
}

FilteredUtterances unpack_weighed(std::string message) {
  Unpacker from(std::move(message));
  FilteredUtterances weighed;
  weighed.too_short = from.number();
  weighed.too_long = from.number();
  weighed.most_labels = from.number();
  weighed.all_labels = from.number();
  weighed.hash = static_cast<std::uint64_t>(from.number());
  weighed.faults = unpack_faults(from);
  weighed.texts.utterances = from.number();
  weighed.texts.summary = from.text();
  const std::string bytes = from.text();
  std::vector<std::uint32_t> ids(bytes.size() / sizeof(std::uint32_t));
  if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), bytes.size());
  weighed.left_out = LeftOut::of_ids(std::move(ids));
  return weighed;
}

}  // namespace penstock::runtime
