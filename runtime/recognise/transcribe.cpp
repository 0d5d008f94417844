#include "runtime/recognise/transcribe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/data/batch/batching.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/job/packing.h"
#include "runtime/recognise/logits_file.h"

namespace penstock::runtime {
namespace {

void pack_recording(const Recording& recording, Packer& message) {
  message.add(recording.audio.native());
  message.add(recording.fault);
  message.add(std::int64_t{recording.segment.has_value()});
  if (!recording.segment) return;
  pack(std::optional(recording.segment->offset), message);
  pack(recording.segment->duration, message);
}

Recording unpack_recording(Unpacker& from) {
  Recording recording;
  recording.audio = from.text();
  recording.fault = from.text();
  if (from.number() == 0) return recording;
  Segment segment;
  segment.offset = unpack_optional<double>(from).value();
  segment.duration = unpack_optional<double>(from);
  recording.segment = segment;
  return recording;
}

/// A recording with the length of its audio, and the part of it that is transcribed.
struct MeasuredRecording {
  Recording recording;
  AudioLength length = {};
  std::optional<std::int64_t> first = {};  // first sample of a segment
  std::string fault = {};

  double seconds() const { return length.rate > 0 ? length.seconds() : 0; }
};

/// Returns the most frames of features that the model takes, which are fewer than `frames`.
std::int64_t most_frames(const partition::LayerSequence& sequence, std::int64_t frames) {
  std::int64_t most = 2 * partition::accepted_frames(sequence, frames);
  while (frames - most > 1) {
    const std::int64_t middle = most + (frames - most) / 2;
    try {
      (void)partition::output_frames(sequence, std::vector{middle});
      most = middle;
    } catch (const ShapeError&) {
      frames = middle;
    }
  }
  return most;
}

/// Returns how a recording can be heard that is too long for the model; empty if it is too short.
std::string chunk_advice(const AudioLength& length, const Recogniser& recogniser) {
  const configs::FeatureConfig& features = recogniser.config().features;
  const std::int64_t frames = shape_utterance(0, length, 1, features).frames;
  if (frames <= partition::min_frames(recogniser.sequence())) return {};
  const double seconds = static_cast<double>(most_frames(recogniser.sequence(), frames)) /
                         features.frames_per_second();
  const double chunk = std::min(std::floor(seconds * 100) / 100, kUsualChunk);
  return chunk > 0 ? fmt::format(". Hear it in parts, by --chunk {:g}", chunk) : "";
}

/// Sets length and first. Sets the fault if the audio cannot be read or resampled, or is too short
/// for the model.
void measure(MeasuredRecording& measured, const Recogniser& recogniser, RemoteFiles& files) try {
  const Recording& recording = measured.recording;
  if (!recording.fault.empty()) throw DataError(recording.fault);
  const LocalFile local = files.open(files.path(recording.audio.string()));
  AudioLength length = audio_length(local.path);
  if (recording.segment) {
    const SampleRange range = samples_of(*recording.segment, length);
    measured.first = range.first;
    length.samples = range.samples;
  }
  measured.length = length;
  recogniser.check_length(length);
} catch (const DataError& error) {
  const std::string file = measured.recording.audio.string();
  const std::string what = files.with_names(error.what());
  const bool named = file.empty() || what.starts_with(file);
  measured.fault = named ? what : fmt::format("{}: {}", file, what);
} catch (const ConfigError& error) {
  measured.fault = error.what();
} catch (const ShapeError& misfit) {
  measured.fault =
      fmt::format("{}: its {:f} s do not fit the model: {}{}", measured.recording.audio.string(),
                  measured.seconds(), misfit.what(), chunk_advice(measured.length, recogniser));
}

/// Recordings that have been requested and not been transcribed. It is the same on every rank.
class RecordingQueue {
 public:
  RecordingQueue(const Recogniser& recogniser, const Transcription& list, RemoteFiles& files)
      : recogniser_(recogniser), list_(list), files_(files) {}

  /// Returns the next window, which is empty after the last one.
  std::vector<MeasuredRecording> next() {
    fill();
    const std::size_t end = window_end(list_.window, {0, waiting_.size()},
                                       [&](std::size_t i) { return waiting_[i].seconds(); });
    const auto finished = waiting_.begin() + static_cast<std::ptrdiff_t>(end);
    std::vector<MeasuredRecording> window(std::make_move_iterator(waiting_.begin()),
                                          std::make_move_iterator(finished));
    waiting_.erase(waiting_.begin(), finished);
    return window;
  }

 private:
  /// Broadcasts further recordings from rank 0, up to the size of a window.
  void fill() {
    const auto bound = static_cast<std::size_t>(list_.window.utterances);
    if (ended_ || waiting_.size() >= bound) return;
    comm::Communicator& world = recogniser_.world();
    Packer more;
    for (std::size_t i = waiting_.size(); world.rank() == 0 && i < bound; ++i) {
      const std::optional<Recording> recording = list_.next();
      if (!recording) break;
      pack_recording(*recording, more);
    }
    std::vector<MeasuredRecording> fresh;
    for (Unpacker from(comm::broadcast(world, more.bytes())); !from.empty();)
      fresh.push_back({unpack_recording(from)});
    ended_ = waiting_.size() + fresh.size() < bound;
    measure_together(fresh);
    std::ranges::move(fresh, std::back_inserter(waiting_));
  }

  /// Distributes the measuring: reader r of n measures every n-th recording, from the r-th on.
  void measure_together(std::vector<MeasuredRecording>& fresh) {
    const std::vector<int>& readers = recogniser_.readers().audio;
    const auto self = std::ranges::find(readers, recogniser_.world().rank());
    Packer own;
    if (self != readers.end())
      for (auto i = static_cast<std::size_t>(self - readers.begin()); i < fresh.size();
           i += readers.size()) {
        measure(fresh[i], recogniser_, files_);
        own.add(static_cast<std::int64_t>(i));
        own.add(fresh[i].length.samples);
        own.add(std::int64_t{fresh[i].length.rate});
        pack(fresh[i].first, own);
        own.add(fresh[i].fault);
      }
    for (Unpacker from(gather_to_all(recogniser_.world(), own)); !from.empty();) {
      MeasuredRecording& measured = fresh.at(static_cast<std::size_t>(from.number()));
      measured.length.samples = from.number();
      measured.length.rate = static_cast<int>(from.number());
      measured.first = unpack_optional<std::int64_t>(from);
      measured.fault = from.text();
    }
  }

  const Recogniser& recogniser_;
  const Transcription& list_;
  RemoteFiles& files_;
  std::deque<MeasuredRecording> waiting_;
  bool ended_ = false;  // the list has ended
};

/// The usable recordings of a window as a corpus.
struct UsableRecordings {
  Corpus corpus;
  std::vector<std::size_t> places;  // index in the window of each id
};

/// Recordings with a fault have no id in the corpus. `places` leads from an id back to the window.
UsableRecordings usable_of(const std::vector<MeasuredRecording>& window,
                           const std::shared_ptr<RemoteFiles>& files) {
  UsableRecordings usable;
  std::vector<AudioSource> sources;
  std::vector<AudioLength> lengths;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (!window[i].fault.empty()) continue;
    usable.places.push_back(i);
    lengths.push_back(window[i].length);
    sources.push_back(
        {files->path(window[i].recording.audio.string()), window[i].length, window[i].first});
  }
  usable.corpus.files = files;
  usable.corpus.lengths = lengths;
  usable.corpus.audio = [sources](std::uint64_t id) { return sources.at(id); };
  return usable;
}

/// Transcribes windows and adds up the counts.
class Transcriber {
 public:
  Transcriber(Recogniser& recogniser, const Transcription& list, std::shared_ptr<RemoteFiles> files)
      : recogniser_(recogniser), list_(list), files_(std::move(files)) {}

  void pass(const std::vector<MeasuredRecording>& window) {
    const UsableRecordings usable = usable_of(window, files_);
    Evaluation heard;
    if (!usable.places.empty()) heard = evaluate(usable);
    counts_.recordings += std::ssize(window);
    counts_.failed += std::ssize(window) - heard.report.utterances;
    counts_.seconds += heard.report.audio_seconds;
    if (!list_.logits.empty()) logits_.collect(recogniser_.world(), window.size());
    if (leads()) list_.take(transcripts_of(window, usable, std::move(heard.utterances)));
  }

  TranscriptionCounts finish() {
    if (!logits_.empty() && leads()) logits_.write(list_.logits);
    return counts_;
  }

 private:
  bool leads() const { return recogniser_.world().rank() == 0; }

  Evaluation evaluate(const UsableRecordings& usable) {
    EvaluationOptions options;
    if (!list_.logits.empty())
      options.logits = [&](std::uint64_t id, std::span<const float> logits_FC,
                           std::int64_t classes) {
        logits_.keep(usable.places.at(id), logits_FC, classes);
      };
    return recogniser_.evaluate(usable.corpus, options);
  }

  std::vector<Transcript> transcripts_of(const std::vector<MeasuredRecording>& window,
                                         const UsableRecordings& usable,
                                         std::vector<Recognised> heard) const {
    std::vector<Transcript> transcripts;
    for (const MeasuredRecording& measured : window)
      transcripts.push_back({measured.recording, measured.seconds(), {}, measured.fault});
    for (std::size_t id = 0; id < heard.size(); ++id) {
      Transcript& transcript = transcripts[usable.places[id]];
      transcript.fault = std::move(heard[id].fault);
      if (!transcript.fault.empty()) continue;
      transcript.text = std::move(heard[id].text);
      transcript.score = heard[id].score;
      transcript.nbest = std::move(heard[id].nbest);
      if (recogniser_.times_words()) transcript.words = std::move(heard[id].words);
    }
    return transcripts;
  }

  Recogniser& recogniser_;
  const Transcription& list_;
  std::shared_ptr<RemoteFiles> files_;
  LogitsFile logits_;
  TranscriptionCounts counts_;
};

}  // namespace

// Memory is bounded by the window. Rank 0 requests recordings until a window is full, and ranks
// that read audio measure them. All ranks then cut the same window from the lengths.
//
// The queue is the same on every rank, since all that goes into it was broadcast or gathered. A
// recording with a fault stays in its place in the window, and only the others form the corpus that
// is heard, so transcripts come in the order of the list.
TranscriptionCounts transcribe(const Trained& trained, const Transcription& transcription,
                               comm::Communicator& world) {
  Recogniser recogniser(trained, world, Scoring::none);
  if (const std::string& decoder = recogniser.config().model.decoder;
      decoder != "ctc" && !transcription.logits.empty())
    throw ConfigError(fmt::format(
        "{}: its model.decoder is {}, which has no logits of frames: leave out --logits",
        trained.checkpoint.string(), decoder));
  return comm::guarded(world.shutdown(), [&] {
    if (world.rank() == 0) transcription.begin(recogniser.identity());
    const auto files = remote_files(recogniser.config().data);
    RecordingQueue queue(recogniser, transcription, *files);
    Transcriber transcriber(recogniser, transcription, files);
    for (auto window = queue.next(); !window.empty(); window = queue.next())
      transcriber.pass(window);
    const TranscriptionCounts counts = transcriber.finish();
    if (world.rank() == 0) transcription.end();
    comm::barrier(world);  // rank 0 does not get here if a callback throws
    return counts;
  });
}

}  // namespace penstock::runtime
