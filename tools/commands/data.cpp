#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/corpus/leaks.h"
#include "runtime/data/index/index.h"
#include "runtime/data/manifest/summary.h"
#include "runtime/data/remote/remote_files.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"
#include "tools/reports/data_report.h"

// Make, merge, index, verify and summary share one struct of options and run on one rank. They go
// through manifests' indexes, so what one of them has measured the next one knows. They differ in
// how much they trust an index: verify decodes every recording, and the others measure those that
// have changed.
//
// The commands write as little as they can. `make` and `merge`, which are one function, write the
// new manifest, completely or not at all. `index` writes MANIFEST.index beside the manifest. The
// others keep in the user's cache what they measured. No command changes a recording or a manifest
// that it reads.
//
// Exit code 3 stands for a manifest that can't be read or, from `make`, `merge` and `index`,
// written. Besides, `make` and `merge` end with 3 for an utterance that can't be used, unless
// --skip-bad leaves it out, and `verify` for any recording that can't be decoded or that a test set
// shares. `summary` only lists what it rejects.

namespace penstock::tools {
namespace {

struct DataOptions {
  runtime::MakeOptions make;
  std::string manifest;  // for index, summary and verify
  std::string leaks;     // for verify: a test set, or empty
  int threads = 0;
  bool json = false;
};

void report(const DataOptions& options, const std::string& manifest,
            const runtime::ManifestSummary& summary, const runtime::Leaks* leaks = nullptr) {
  std::cout << (options.json ? summary_json(manifest, summary, leaks)
                             : summary_text(summary, leaks));
}

/// Runs `make` and `merge`. The summary that is printed is of the manifest that was written.
int make(DataOptions options) {
  options.make.threads = options.threads;
  const auto files = runtime::remote_files();
  options.make.cache = runtime::cache_folder();
  options.make.files = files.get();
  report(options, options.make.output.string(), runtime::make_manifest(options.make));
  return exit_done;
}

/// Runs `summary`: recordings whose size and time of change are those in the index are not opened.
int summary(const DataOptions& options) {
  const auto files = runtime::remote_files();
  report(options, options.manifest,
         runtime::summarise(options.manifest, {.cache = runtime::cache_folder(),
                                               .threads = options.threads,
                                               .use = runtime::IndexUse::checked,
                                               .files = files.get()}));
  return exit_done;
}

/// Runs `verify`, which decodes every recording to its end. With --leaks it then compares the test
/// set. The report is printed before a shared recording becomes an error, so that shared texts,
/// which are no error, are seen too.
int verify(const DataOptions& options) {
  const auto files = runtime::remote_files();
  const runtime::ManifestSummary found =
      runtime::summarise(options.manifest, {.cache = runtime::cache_folder(),
                                            .threads = options.threads,
                                            .use = runtime::IndexUse::fresh,
                                            .files = files.get()});
  found.rejected.require_none(fmt::format("{}: {} cannot be used", options.manifest,
                                          counted(found.rejected.size(), "utterance")));
  if (found.utterances == 0) throw DataError(options.manifest + ": holds no utterances");
  if (options.leaks.empty()) {
    report(options, options.manifest, found);
    return exit_done;
  }
  const runtime::Leaks leaks =
      runtime::find_leaks(options.manifest, options.leaks, options.threads, files.get());
  report(options, options.manifest, found, &leaks);
  leaks.recordings.require_none(
      fmt::format("{} of {} are recordings of {} as well",
                  counted(std::ssize(leaks.recordings.all()), "utterance"), options.leaks,
                  options.manifest),
      "Leave them out of one of the two.");
  return exit_done;
}

/// Runs `index`. Other commands log a warning if an index can't be kept; here it is what was asked
/// for.
int index(const DataOptions& options) {
  const auto files = runtime::remote_files();
  const runtime::LocalFile manifest = files->open_manifest(options.manifest);
  const runtime::FoundIndex found = runtime::find_index({.manifest = manifest.path,
                                                         .cache = runtime::cache_folder(),
                                                         .threads = options.threads,
                                                         .use = runtime::IndexUse::checked,
                                                         .beside = true,
                                                         .files = files.get()});
  if (found.file.empty())
    throw DataError(
        fmt::format("{}: no index can be written beside it: allow that, or run where it "
                    "is allowed",
                    options.manifest));
  std::cout << (options.json ? index_json(options.manifest, found) : index_text(found));
  return exit_done;
}

/// Adds the options that all of these commands have.
CLI::App* add_common(CLI::App* command, DataOptions& options) {
  takes_whole(command->add_option(
                  "--threads", options.threads,
                  "Recordings that are read at the same time; by default, as many as cores"),
              kThreads);
  command->add_flag("--json", options.json, "Print one JSON object");
  return command;
}

void add_manifest(CLI::App* command, DataOptions& options) {
  command
      ->add_option("manifest", options.manifest, "A manifest or folder of any format, or its URL")
      ->required();
}

void add_data_verify(CLI::App* command, DataOptions& options) {
  add_manifest(command, options);
  command->add_option("--leaks", options.leaks,
                      "A test set's manifest: tell what it shares with this one. Exit code 3: a "
                      "recording");
}

void add_make(CLI::App* command, DataOptions& options) {
  command
      ->add_option("inputs", options.make.inputs,
                   "Manifests and folders of any format; several are merged")
      ->required();
  command->add_option("-o,--output", options.make.output, "The manifest to write, in JSON lines")
      ->required();
  command->add_flag("--absolute-paths", options.make.absolute_paths,
                    "Write absolute paths, not relative to the manifest");
  command->add_flag("--skip-bad", options.make.skip_bad,
                    "Leave out utterances that can't be used, instead of refusing all");
}

}  // namespace

void add_data(CLI::App& app, Run& run) {
  const auto options = std::make_shared<DataOptions>();
  CLI::App* data = app.add_subcommand(
      "data",
      "Make, merge, verify and summarise manifests; train pieces of text; preview a training");
  data->require_subcommand(1);
  data->footer(
      "Files: JSON lines (audio_filepath, offset, duration, text), deepspeech.pytorch's JSON and "
      "CSV,\n"
      "Common Voice's TSV, any other CSV and TSV of recordings and texts.\n"
      "Folders: of LibriSpeech, Kaldi and LJSpeech, or with a NAME.txt beside each recording.\n"
      "All of them may lie on servers: s3://, gs://, https://.\n"
      "Tars: NeMo's tarred_audio_manifest.json, WebDataset's shards; a manifest may name "
      "TAR:NAME.\n\n"
      "Examples:\n"
      "  penstock data make LibriSpeech/train-clean-100 --output train.jsonl\n"
      "  penstock data merge a.jsonl b.csv --output both.jsonl\n"
      "  penstock data index train.jsonl\n"
      "  penstock data verify train.jsonl --leaks test.jsonl\n"
      "  penstock data summary train.jsonl --json\n"
      "  penstock data alphabet train.jsonl test.jsonl\n"
      "  penstock data tokens train.jsonl --pieces 128 --output pieces.model\n"
      "  penstock data preview recipe.toml --output preview");
  // Options of all commands lie in one struct, as only one of the commands runs.
  const auto add = [&](const char* name, const char* what, auto add_options, auto work) {
    CLI::App* command = add_common(data->add_subcommand(name, what), *options);
    add_options(command, *options);
    command->callback(
        [options, &run, work] { run = on_rank_0([options, work] { return work(*options); }); });
  };
  add("make", "Write a JSON-lines manifest with exact durations", add_make, make);
  add("merge", "Merge several manifests into one", add_make, make);
  add("index", "Keep the lengths of recordings beside a manifest, so that runs start at once",
      add_manifest, index);
  add("verify", "Read every recording to its end. Exit code 3: one can't be used", add_data_verify,
      verify);
  add("summary", "Print hours, durations, characters and rejected utterances", add_manifest,
      summary);
  add_data_alphabet(*data, run);
  add_data_preview(*data, run);
  add_data_tokens(*data, run);
}

}  // namespace penstock::tools
