#include "runtime/trainer/corpus.h"

#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "layers/tensor/error.h"
#include "runtime/data/batching.h"
#include "runtime/data/index.h"
#include "runtime/text/alphabet.h"

namespace penstock {
namespace {

/// Refuses the faults found so far, or logs them and forgets them, as data.bad_utterances says.
/// Returns how many there were.
std::int64_t settle(Faults& faults, const CorpusOptions& options) {
  if (faults.empty()) return 0;
  const auto count = static_cast<std::int64_t>(faults.size());
  const std::string headline =
      std::to_string(count) + " utterances of " + options.manifest.string();
  if (options.data.bad_utterances != "skip")
    faults.refuse(headline + " cannot be used", options.advice);
  spdlog::warn("{} are left out:{}", headline, faults.listed());
  faults = {};
  return count;
}

/// Keeps the entries whose text the alphabet can spell, with its labels.
void read_labels(std::vector<ManifestEntry> entries, const Alphabet& alphabet, Corpus& corpus,
                 Faults& faults) {
  for (ManifestEntry& entry : entries) try {
      corpus.labels.push_back(alphabet.encode(entry.text));
      corpus.entries.push_back(std::move(entry));
    } catch (const DataError& error) {
      faults.add(entry.where, error.what());
    }
}

/// Fills lengths and frames and keeps the utterances that can take part.
class LengthFilter {
 public:
  explicit LengthFilter(const CorpusOptions& options)
      : options_(options),
        training_(options.use == CorpusUse::training),
        fastest_(training_ && !options.data.speeds.empty() ? std::ranges::max(options.data.speeds)
                                                           : 1) {}

  void apply(const std::vector<IndexedAudio>& index, Corpus& corpus, Faults& faults) const {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const bool known = index[i].fault.empty();
      if (known && !in_bounds(index[i].length, corpus)) continue;
      const std::string fault =
          known ? fault_of(index[i].length, corpus.labels[i]) : index[i].fault;
      if (!fault.empty()) {
        faults.add(corpus.entries[i].where, fault);
        continue;
      }
      if (kept != i) corpus.entries[kept] = std::move(corpus.entries[i]);
      if (kept != i) corpus.labels[kept] = std::move(corpus.labels[i]);
      corpus.lengths.push_back(index[i].length);
      corpus.frames.push_back(frames(index[i].length, 1));
      ++kept;
    }
    corpus.entries.resize(kept);
    corpus.labels.resize(kept);
  }

 private:
  std::int64_t frames(const AudioLength& length, double speed) const {
    return shape_utterance(0, length, speed, options_.features).frames;
  }

  std::string fault_of(const AudioLength& length, const std::vector<std::int32_t>& labels) const {
    try {
      const std::int64_t needed = ctc_frames(labels);
      const std::int64_t held = options_.output_frames(frames(length, fastest_));
      if (needed <= held) return {};
      return "its " + std::to_string(labels.size()) + " labels need " + std::to_string(needed) +
             " frames at the loss, and its " + std::to_string(length.seconds()) + " s make " +
             std::to_string(held) + (fastest_ == 1 ? "" : " at speed " + std::to_string(fastest_));
    } catch (const DataError& error) {
      return error.what();
    }
  }

  bool in_bounds(const AudioLength& length, Corpus& corpus) const {
    if (!training_) return true;
    const bool too_short = length.seconds() < options_.data.min_seconds;
    const bool too_long =
        options_.data.max_seconds > 0 && length.seconds() > options_.data.max_seconds;
    corpus.too_short += too_short;
    corpus.too_long += too_long;
    return !too_short && !too_long;
  }

  const CorpusOptions& options_;
  bool training_;
  double fastest_;
};

std::uint64_t hash_of(const Corpus& corpus) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const auto add = [&](const void* data, std::size_t bytes) {
    XXH3_64bits_update(state.get(), &bytes, sizeof bytes);
    XXH3_64bits_update(state.get(), data, bytes);
  };
  for (std::size_t i = 0; i < corpus.entries.size(); ++i) {
    const std::string name = corpus.entries[i].audio.filename().string();
    const std::int64_t length[] = {corpus.lengths[i].samples, corpus.lengths[i].rate};
    add(name.data(), name.size());
    add(length, sizeof length);
    add(corpus.labels[i].data(), corpus.labels[i].size() * sizeof(std::int32_t));
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

double Corpus::seconds() const {
  double sum = 0;
  for (const AudioLength& length : lengths) sum += length.seconds();
  return sum;
}

void Corpus::forget_texts() {
  labels = {};
  for (ManifestEntry& entry : entries) entry.text = {};
}

std::int64_t ctc_frames(const std::vector<std::int32_t>& labels) {
  std::int64_t frames = std::ssize(labels);
  for (std::size_t i = 1; i < labels.size(); ++i) frames += labels[i] == labels[i - 1];
  return frames;
}

Corpus load_corpus(const CorpusOptions& options, const Alphabet& alphabet) {
  if (options.data.bad_utterances != "refuse" && options.data.bad_utterances != "skip")
    throw ConfigError("data.bad_utterances is \"" + options.data.bad_utterances +
                      "\", not refuse or skip");
  Corpus corpus;
  Faults faults;
  read_labels(read_manifest(options.manifest, faults), alphabet, corpus, faults);
  corpus.skipped += settle(faults, options);
  LengthFilter(options).apply(
      index_audio(corpus.entries, {options.manifest, options.output, options.threads, false}),
      corpus, faults);
  corpus.skipped += settle(faults, options);
  if (corpus.entries.empty())
    throw DataError(options.manifest.string() +
                    " has no utterances that can be used: " + std::to_string(corpus.skipped) +
                    " are bad, " + std::to_string(corpus.too_short) + " too short, " +
                    std::to_string(corpus.too_long) + " too long");
  corpus.hash = hash_of(corpus);
  return corpus;
}

}  // namespace penstock
