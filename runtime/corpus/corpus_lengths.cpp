#include "runtime/corpus/corpus_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/data/batching.h"
#include "runtime/data/index.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

/// Weighs single lines.
class LengthFilter {
 public:
  explicit LengthFilter(const CorpusOptions& options)
      : options_(options),
        training_(options.use == CorpusUse::training),
        fastest_(training_ && !options.data.speeds.empty() ? std::ranges::max(options.data.speeds)
                                                           : 1) {}

  bool in_bounds(const AudioLength& length, CorpusLengths& found) const {
    if (!training_) return true;
    const bool too_short = length.seconds() < options_.data.min_seconds;
    const bool too_long =
        options_.data.max_seconds > 0 && length.seconds() > options_.data.max_seconds;
    found.too_short += too_short;
    found.too_long += too_long;
    return !too_short && !too_long;
  }

  /// Why the line's labels don't fit its audio, or nothing.
  std::string fault_of(const AudioLength& length, const CorpusLine& line) const try {
    const std::int64_t held =
        options_.output_frames(shape_utterance(0, length, fastest_, options_.features).frames);
    if (line.frames <= held) return {};
    return fmt::format("its text of {} needs {} at the loss, but its {:f} s make {}{}",
                       counted(line.labels, "label"), counted(line.frames, "frame"),
                       length.seconds(), held,
                       fastest_ == 1 ? "" : fmt::format(" at speed {:f}", fastest_));
  } catch (const DataError& error) {
    return error.what();
  } catch (const ShapeError& too_short) {
    return fmt::format("its {:f} s are too short for the model: {}", length.seconds(),
                       too_short.what());
  }

 private:
  const CorpusOptions& options_;
  bool training_;
  double fastest_;
};

std::vector<ManifestEntry> audio_of(const CorpusLines& lines) {
  std::vector<ManifestEntry> entries;
  for (const CorpusLine& line : lines.lines)
    entries.push_back({line.audio, "", line.duration, line.where, line.offset});
  return entries;
}

}  // namespace

CorpusLengths find_lengths(const CorpusOptions& options, const CorpusLines& lines) {
  const std::vector<IndexedAudio> index =
      index_audio(audio_of(lines), {options.manifest, options.output, options.threads, false});
  const LengthFilter filter(options);
  CorpusLengths found;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const bool known = index[i].fault.empty();
    if (known && !filter.in_bounds(index[i].length, found)) continue;
    const std::string fault =
        known ? filter.fault_of(index[i].length, lines.lines[i]) : index[i].fault;
    if (!fault.empty()) {
      found.faults.add(lines.lines[i].where, fault);
      continue;
    }
    found.kept.push_back(i);
    found.lengths.push_back(index[i].length);
    found.first.push_back(index[i].first);
  }
  return found;
}

std::string pack_lengths(const CorpusLengths& lengths) {
  Packer message;
  message.add(lengths.too_short);
  message.add(lengths.too_long);
  pack(lengths.faults, message);
  for (std::size_t i = 0; i < lengths.kept.size(); ++i) {
    message.add(static_cast<std::int64_t>(lengths.kept[i]));
    message.add(lengths.lengths[i].samples);
    message.add(std::int64_t{lengths.lengths[i].rate});
    pack(lengths.first[i], message);
  }
  return message.bytes();
}

CorpusLengths unpack_lengths(std::string message) {
  Unpacker from(std::move(message));
  CorpusLengths lengths;
  lengths.too_short = from.number();
  lengths.too_long = from.number();
  lengths.faults = unpack_faults(from);
  while (!from.empty()) {
    lengths.kept.push_back(static_cast<std::size_t>(from.number()));
    AudioLength& length = lengths.lengths.emplace_back();
    length.samples = from.number();
    length.rate = static_cast<int>(from.number());
    lengths.first.push_back(unpack_optional<std::int64_t>(from));
  }
  return lengths;
}

}  // namespace penstock::runtime
