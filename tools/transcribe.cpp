#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/job/job.h"
#include "runtime/trainer/recognise.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json_line.h"
#include "tools/launch.h"
#include "tools/options.h"
#include "tools/output_file.h"
#include "tools/verified_option.h"

namespace penstock::tools {
namespace {

struct TranscribeOptions {
  runtime::Trained trained;
  std::vector<std::filesystem::path> recordings;
  std::string logits = {};
  bool json = false;
};

void print(const TranscribeOptions& options, const std::vector<std::string>& texts) {
  if (options.json) {
    nlohmann::ordered_json transcripts = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < texts.size(); ++i)
      transcripts.push_back(
          {{"audio_filepath", options.recordings[i].string()}, {"text", texts[i]}});
    std::cout << json_line(nlohmann::ordered_json{{"transcripts", transcripts}});
    return;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts.size() > 1) std::cout << options.recordings[i].string() << '\t';
    std::cout << texts[i] << '\n';
  }
}

/// What the file of logits must not replace.
std::vector<NamedFile> inputs(const TranscribeOptions& options) {
  std::vector<NamedFile> files;
  for (const std::filesystem::path& recording : options.recordings)
    files.push_back({"recordings", recording.string()});
  std::error_code error;
  const std::filesystem::recursive_directory_iterator inside(options.trained.checkpoint, error);
  for (const auto& entry : inside) files.push_back({"checkpoint", entry.path().string()});
  return files;
}

int run_transcribe(const TranscribeOptions& options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        if (world.rank() == 0) check_outputs({{"--logits", options.logits}}, inputs(options));
        const auto texts =
            runtime::transcribe(options.trained, options.recordings, world, options.logits);
        if (world.rank() == 0) print(options, texts);
        return exit_done;
      },
      complain_of);
}

}  // namespace

void add_transcribe(CLI::App& app, Run& run) {
  auto options = std::make_shared<TranscribeOptions>();
  CLI::App* command =
      app.add_subcommand("transcribe", "Print the text that a checkpoint recognises in recordings");
  command
      ->add_option("checkpoint", options->trained.checkpoint,
                   "A checkpoint's folder, or an output folder (its newest checkpoint)")
      ->required();
  command->add_option("recordings", options->recordings, "WAV, FLAC, Ogg, SPHERE or MP3 files")
      ->required();
  takes_whole(command->add_option("--threads", options->trained.threads, "Threads of each rank"),
              kThreads);
  takes_verified(command, options->trained.verified);
  command->add_option("--logits", options->logits,
                      "File to write each recording's logits to (safetensors, FP32, frames × "
                      "classes, named 00000, 00001, …)");
  command
      ->add_option("--precision", options->trained.compute,
                   "Number format that layers compute in. Default: that of the training")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Prints the text of one recording, or a line for each of several.\n\nExamples:\n"
      "  penstock transcribe outputs/quickstart prompt.wav\n"
      "  mpirun -np 2 penstock transcribe outputs/digits *.flac --json");
  command->callback([options, &run] { run = [options] { return run_transcribe(*options); }; });
}

}  // namespace penstock::tools
