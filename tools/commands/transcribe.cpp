#include "runtime/recognise/transcribe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/job/job.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recording_list.h"
#include "tools/cli/subtitle_folder.h"
#include "tools/commands/commands.h"
#include "tools/reports/recognition_report.h"

// `penstock transcribe` takes these steps:
// 1. Rank 0 checks the files to be written: they must not be among those that are read, such as the
//    checkpoint's.
// 2. All ranks open the checkpoint. With --resume, rank 0 passes over the recordings whose lines
//    --output has already, and compares them by a hash of the list.
// 3. Recordings are read from the list in windows, sorted by length within each, and recognised.
//    Rank 0 writes their texts in the order of the list.
// 4. With --output, rank 0 prints how many lines the file has. It names the first recordings
//    without a text.
//
// The list may have any length: only a window is in memory. A recording that can't be used does not
// end the run; it costs exit code 3 at the end, after all others. Other codes are 2 for options and
// results of another list, and 4 for a checkpoint. Only --output with its FILE.progress, --logits
// and the files in --subtitles are written.

namespace penstock::tools {
namespace {

struct TranscribeOptions {
  runtime::Trained trained;
  RecordingSources sources;
  bool from_input = false, null_separated = false;
  ResultFileOptions output{"--output"};
  SubtitleOptions subtitles = {};
  runtime::WindowBounds window;
  std::string logits = {};
  bool json = false, timings = false;
};

/// Returns the files that no output may replace.
std::vector<NamedFile> inputs(const TranscribeOptions& options) {
  std::vector<NamedFile> files;
  for (const std::string& recording : options.sources.recordings)
    files.push_back({"recordings", recording});
  for (const std::string& manifest : options.sources.manifests)
    files.push_back({"--manifest", manifest});
  std::error_code error;
  const std::filesystem::recursive_directory_iterator inside(options.trained.checkpoint, error);
  for (const auto& entry : inside) files.push_back({"checkpoint", entry.path().string()});
  return files;
}

/// Runs on rank 0: lists recordings, and writes their transcripts.
class TranscriptWriter {
 public:
  explicit TranscriptWriter(const TranscribeOptions& options)
      : options_(options), list_(sources_of(options)) {}

  /// Opens the file of results, and skips the recordings whose results it has.
  void begin(const std::string& identity) {
    if (!options_.subtitles.folder.empty())
      subtitles_ = std::make_unique<SubtitleFolder>(options_.subtitles);
    if (options_.output.path.empty()) return;
    file_ = std::make_unique<ResultFile>(options_.output, "checkpoint " + identity);
    if (!file_->state().empty()) pass_over(nlohmann::json::parse(file_->state()));
  }

  std::optional<runtime::Recording> next() { return list_.next(); }

  /// Writes the lines of a window, to the file or to standard output, where each window is flushed
  /// so that a reader in a pipe gets it at once.
  void take(std::span<const runtime::Transcript> transcripts) {
    std::string lines;
    for (const runtime::Transcript& transcript : transcripts) {
      count(transcript);
      lines += line_of(transcript);
      if (subtitles_ && transcript.words)
        subtitles_->add(transcript.recording.audio,
                        transcript.recording.segment ? transcript.recording.segment->offset : 0,
                        *transcript.words);
    }
    if (file_)
      file_->append(
          lines,
          nlohmann::json{{"recordings", recordings_}, {"failed", failed_}, {"list", hash_}}.dump());
    else
      std::cout << lines << std::flush;
  }

  /// Writes the last subtitles and prints the totals. DataError if there were no recordings, or if
  /// one has no text.
  void finish() {
    if (subtitles_) subtitles_->finish();
    if (recordings_ == 0)
      throw DataError(fmt::format("there are no recordings to transcribe: {} names none",
                                  options_.from_input ? "standard input" : "the manifest"));
    if (file_)
      std::cout << fmt::format("{}: {}{}\n", options_.output.path, counted(recordings_, "line"),
                               before_ > 0 ? fmt::format(", of which {} were there", before_) : "");
    if (failed_ == 0) return;
    std::string listed = faults_.listed();
    if (const auto more = failed_ - std::ssize(faults_.all()); more > 0)
      listed += fmt::format("\n  and {} more", more);
    throw DataError(
        fmt::format("{} of {} could not be transcribed:{}\nCorrect them, or leave them "
                    "out.",
                    failed_, counted(recordings_, "recording"), listed));
  }

 private:
  static RecordingSources sources_of(const TranscribeOptions& options) {
    RecordingSources sources = options.sources;
    if (options.from_input) sources.paths = &std::cin;
    if (options.null_separated) sources.separator = '\0';
    return sources;
  }

  /// Skips the recordings that have results. The hash in the state shows if the list begins with
  /// the same recordings.
  void pass_over(const nlohmann::json& state) {
    before_ = state.at("recordings");
    failed_ = state.at("failed");
    for (; recordings_ < before_; ++recordings_) {
      const auto recording = list_.next();
      if (!recording) break;
      hash_ = chained_hash(hash_, *recording);
    }
    if (hash_ != state.at("list").get<std::string>())
      throw ConfigError(fmt::format(
          "--output: {} holds results of another list: its {} are not those that this one begins "
          "with. Name the same recordings in the same order, or another file",
          options_.output.path, counted(before_, "recording")));
  }

  /// Counts a recording and continues the hash, for one that failed as well: --resume does not try
  /// it again.
  void count(const runtime::Transcript& transcript) {
    ++recordings_;
    hash_ = chained_hash(hash_, transcript.recording);
    if (transcript.fault.empty()) return;
    ++failed_;
    if (faults_.size() < runtime::Faults::kListed)
      faults_.add(fmt::format("recording {}", recordings_), transcript.fault);
  }

  /// Formats a recording's line; empty if it has no text, which standard error reports.
  std::string line_of(const runtime::Transcript& transcript) const {
    if (file_ || options_.json) return transcript_line(transcript);
    if (!transcript.fault.empty()) return {};
    const bool alone = options_.sources.recordings.size() == 1 &&
                       options_.sources.manifests.empty() && !options_.from_input;
    return alone ? transcript.text + '\n'
                 : fmt::format("{}\t{}\n", transcript.recording.audio.string(), transcript.text);
  }

  const TranscribeOptions& options_;
  RecordingList list_;
  std::unique_ptr<ResultFile> file_;
  std::unique_ptr<SubtitleFolder> subtitles_;
  std::int64_t recordings_ = 0, failed_ = 0, before_ = 0;  // before_: by an earlier run
  std::string hash_;                                       // hash of the list so far
  runtime::Faults faults_;                                 // the first faults of this run
};

/// Checks the list on every rank, so that all end alike, and the files on rank 0.
void check(const TranscribeOptions& options) {
  if (options.sources.recordings.empty() && options.sources.manifests.empty() &&
      !options.from_input)
    throw ConfigError(
        "transcribe: no recordings are named: name files, or give --manifest FILE or --stdin");
  for (const std::string& recording : options.sources.recordings)
    if (recording.ends_with(".jsonl"))
      throw ConfigError(fmt::format("{} is no recording: a manifest is named by --manifest {}",
                                    recording, recording));
  if (options.trained.decoding.nbest > 0 && !options.json && options.output.path.empty())
    throw ConfigError(
        "transcribe: --nbest is for lines of JSON alone: add --json, or --output FILE");
  if (options.timings && !options.json && options.output.path.empty())
    throw ConfigError(
        "transcribe: --timings is for lines of JSON alone: add --json, or --output FILE");
  if (launched_rank() != 0) return;
  check_result_file(options.output);
  const std::string progress =
      options.output.path.empty() ? std::string() : progress_file(options.output.path);
  check_outputs(
      {{"--logits", options.logits}, {"--output", options.output.path}, {"--output", progress}},
      inputs(options));
  make_subtitle_folder(options.subtitles,
                       {{"--output", options.output.path}, {"--logits", options.logits}});
}

int run_transcribe(TranscribeOptions options) {
  if (options.timings || !options.subtitles.folder.empty())
    options.trained.timed = runtime::TimedTexts::recognised;
  return runtime::run_job(
      [&](comm::Communicator& world) {
        check(options);
        TranscriptWriter writer(options);
        runtime::Transcription transcription;
        transcription.next = [&] { return writer.next(); };
        transcription.take = [&](auto transcripts) { writer.take(transcripts); };
        transcription.begin = [&](const std::string& identity) { writer.begin(identity); };
        transcription.end = [&] { writer.finish(); };
        transcription.window = options.window;
        transcription.logits = options.logits;
        runtime::transcribe(options.trained, transcription, world);
        return exit_done;
      },
      complain_in_job);
}

void takes_recordings(CLI::App* command, TranscribeOptions& options) {
  command->add_option("recordings", options.sources.recordings,
                      "WAV, FLAC, Ogg, SPHERE or MP3 files");
  command
      ->add_option("--manifest", options.sources.manifests,
                   "JSON lines with the recordings or segments, as in manifests; texts are not "
                   "needed. May be given several times")
      ->allow_extra_args(false);
  CLI::Option* input = command->add_flag(
      "--stdin", options.from_input, "Read paths of recordings from standard input, one a line");
  command
      ->add_flag("-0,--null", options.null_separated,
                 "Paths on standard input end with a zero byte, as of find -print0")
      ->needs(input);
}

/// Adds the outputs. --logits can't be continued, because the header of a safetensors file lists
/// all tensors.
void takes_outputs(CLI::App* command, TranscribeOptions& options) {
  CLI::Option* output = command->add_option(
      "--output,-o", options.output.path,
      "File to write a JSON line to for each recording, in the order of the list, as they come");
  CLI::Option* resume = command
                            ->add_flag("--resume", options.output.resume,
                                       "Go on after what FILE has of the same list, if it is there")
                            ->needs(output);
  command
      ->add_option("--logits", options.logits,
                   "File to write each recording's logits to (safetensors, FP32, frames × "
                   "classes, named 00000, 00001, …)")
      ->excludes(resume);
  command->add_flag("--timings", options.timings,
                    "Add each word's start, end and confidence to the lines of JSON, by CTC");
  takes_subtitles(command, options.subtitles)->excludes(resume);
  command->add_flag("--json", options.json, "Print a JSON line for each recording")
      ->excludes(output);
}

}  // namespace

void add_transcribe(CLI::App& app, Run& run) {
  auto options = std::make_shared<TranscribeOptions>();
  CLI::App* command =
      app.add_subcommand("transcribe", "Print the text that a checkpoint recognises in recordings");
  takes_checkpoint(command, options->trained.checkpoint);
  takes_recordings(command, *options);
  takes_recognition(command, options->trained, options->window);
  takes_chunks(command, options->trained.chunking);
  takes_outputs(command, *options);
  command
      ->add_option("--precision", options->trained.compute,
                   "Number format that layers compute in. Default: that of the training")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  command->footer(
      "Prints the text of one recording, or a line for each of several. Recordings that can't be "
      "used\n"
      "are named at the end, with exit code 3; in JSON they have an error in place of a text.\n"
      "With --beam, lines of JSON have the text's score, and with --nbest the best texts.\n\n"
      "Examples:\n"
      "  penstock transcribe outputs/quickstart prompt.wav\n"
      "  find calls -name '*.flac' | penstock transcribe outputs/digits --stdin -o texts.jsonl\n"
      "  penstock transcribe outputs/digits call.wav --beam 8 --nbest 4 --json\n"
      "  penstock transcribe outputs/digits *.wav --subtitles subtitles\n"
      "  mpirun -np 4 penstock transcribe outputs/digits --replicas 2 --manifest calls.jsonl \\\n"
      "    -o texts.jsonl --resume");
  command->callback([options, &run] { run = [options] { return run_transcribe(*options); }; });
}

}  // namespace penstock::tools
