#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/communicator.h"
#include "runtime/corpus/corpus_window.h"
#include "runtime/data/segment.h"
#include "runtime/trainer/recognise.h"

namespace penstock::runtime {

/// What is to be transcribed.
struct Recording {
  std::filesystem::path audio = {};
  std::optional<Segment> segment = {};  // nothing: all of it
  std::string fault = {};               // why it isn't known what is meant
};

struct Transcript {
  Recording recording;
  double seconds = 0;  // of audio; 0 if that isn't known
  std::string text = {};
  std::string fault = {};  // why there is no text
};

/// A list of recordings, of which some at a time are in memory, and what is made of it. Rank 0
/// alone calls the functions.
struct Transcription {
  std::function<std::optional<Recording>()> next = {};  // nothing: that was the last one
  std::function<void(std::span<const Transcript>)> take =
      {};  // a window's, in the order of the list
  /// Before the first recording is asked for; `identity` is the Recogniser's.
  std::function<void(const std::string& identity)> begin = [](const std::string&) {};
  std::function<void()> end = [] {};  // behind the last window; no rank ends before it has
  WindowBounds window = {};
  std::filesystem::path logits = {};  // file for them, as LogitsFile has it; empty: none
};

struct TranscriptionCounts {
  std::int64_t recordings = 0, failed = 0;
  double seconds = 0;  // of audio
};

/// Transcribes recordings by windows. One that can't be used or read has its fault in its place.
/// What is made of a recording is the same on any number of ranks. All ranks call it; the counts
/// are whole on each. CheckpointError and ConfigError as Recogniser.
TranscriptionCounts transcribe(const Trained& trained, const Transcription& transcription,
                               comm::Communicator& world);

}  // namespace penstock::runtime
