#pragma once

#include <functional>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

/// Runs what the parsed command line asks for. Returns the exit code; errors are thrown.
using Run = std::function<int()>;

/// Each of these functions adds a subcommand. Parsing that subcommand sets `run`.
void add_plan(CLI::App& app, Run& run);
void add_train(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_watch(CLI::App& app, Run& run);
void add_report(CLI::App& app, Run& run);
void add_probe(CLI::App& app, Run& run);
void add_evaluate(CLI::App& app, Run& run);
void add_transcribe(CLI::App& app, Run& run);
void add_align(CLI::App& app, Run& run);
void add_tune(CLI::App& app, Run& run);
void add_import(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_average(CLI::App& app, Run& run);
void add_data(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);
void add_schedule(CLI::App& app, Run& run);
void add_profile(CLI::App& app, Run& run);
void add_sweep(CLI::App& app, Run& run);
void add_trace(CLI::App& app, Run& run);
void add_search(CLI::App& app, Run& run);
void add_completion(CLI::App& app, Run& run);
void add_manual(CLI::App& app, Run& run);

/// Adds `penstock data alphabet`, which prints the [text] that fits the transcripts of manifests.
void add_data_alphabet(CLI::App& data, Run& run);

/// Adds `penstock data preview`, which writes what a training hears as WAV files and a page.
void add_data_preview(CLI::App& data, Run& run);

/// Adds `penstock data tokens`, which trains a SentencePiece model on the transcripts of a
/// manifest.
void add_data_tokens(CLI::App& data, Run& run);

}  // namespace penstock::tools
