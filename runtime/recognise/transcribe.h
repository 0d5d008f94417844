#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/corpus/corpus_window.h"
#include "runtime/data/audio/segment.h"
#include "runtime/recognise/recognise.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// A recording, or a segment of one, to transcribe.
struct Recording {
  std::filesystem::path audio = {};
  std::optional<Segment> segment = {};  // empty: the whole recording
  std::string fault = {};               // why the list's entry is not valid
};

struct Transcript {
  Recording recording;
  double seconds = 0;  // length of the audio; 0 if unknown
  std::string text = {};
  std::string fault = {};                            // why there is no text
  std::optional<double> score = {};                  // as in Recognised
  std::vector<ScoredText> nbest = {};                // as in Recognised
  std::optional<std::vector<TimedWord>> words = {};  // as in Recognised; empty without times
};

/// A list of recordings, of which only a window is in memory at a time, and callbacks for the
/// results. The functions are called on rank 0 alone.
struct Transcription {
  std::function<std::optional<Recording>()> next = {};  // returns nothing after the last one
  /// Receives the transcripts of a window, in the order of the list.
  std::function<void(std::span<const Transcript>)> take = {};
  /// Called before the first recording is requested, with Recogniser::identity().
  std::function<void(const std::string& identity)> begin = [](const std::string&) {};
  std::function<void()> end = [] {};  // called after the last window; all ranks wait for it
  WindowBounds window = {};
  std::filesystem::path logits = {};  // safetensors file for the logits; may be empty
};

struct TranscriptionCounts {
  std::int64_t recordings = 0, failed = 0;
  double seconds = 0;  // length of the audio
};

/// Transcribes recordings in windows. A recording that is invalid or cannot be read gets an error
/// text instead. The results are the same on any number of ranks. All ranks call it, and all return
/// the same counts. CheckpointError and ConfigError as from Recogniser.
TranscriptionCounts transcribe(const Trained& trained, const Transcription& transcription,
                               comm::Communicator& world);

}  // namespace penstock::runtime
