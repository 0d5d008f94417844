#include "runtime/huggingface/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json_line.h"
#include "tools/launch.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kShownTokens = 8;

struct ImportOptions {
  std::filesystem::path folder, checkpoint;
  bool json = false;
};

void print(const ImportOptions& options, const runtime::ImportReport& report) {
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"architecture", report.architecture},
                                                  {"parameters", report.parameters},
                                                  {"labels", report.labels},
                                                  {"without_letter", report.without_letter},
                                                  {"beyond_head", report.beyond_head},
                                                  {"without_numbers", report.without_numbers},
                                                  {"no_pieces", report.no_pieces},
                                                  {"checkpoint", options.checkpoint.string()}});
    return;
  }
  std::cout << fmt::format("{} with {} and {} is now {}\n", report.architecture,
                           counted(report.parameters, "number"), counted(report.labels, "label"),
                           options.checkpoint.string());
  if (!report.without_numbers.empty())
    std::cout << fmt::format("the folder lacks {}: an export writes zeros\n",
                             fmt::join(report.without_numbers, ", "));
  if (!report.beyond_head.empty())
    std::cout << fmt::format(
        "the tokenizer has tokens for which the head has no row, and which are never recognised: "
        "{}\n",
        fmt::join(report.beyond_head, " "));
  const auto& tokens = report.without_letter;
  if (tokens.empty()) return;
  const std::vector<std::string> shown(
      tokens.begin(),
      tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), kShownTokens)));
  std::cout << fmt::format(
      "{} no single character, so that transcripts show a stand-in: {}{}\n",
      tokens.size() == 1 ? "1 token is" : fmt::format("{} tokens are", tokens.size()),
      fmt::join(shown, " "), tokens.size() > shown.size() ? " …" : "");
  if (!report.no_pieces.empty())
    std::cout << fmt::format("tokenizer.json is no SentencePiece model: {}\n", report.no_pieces);
}

}  // namespace

void add_import(CLI::App& app, Run& run) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "Make a checkpoint of a model that transformers of Hugging Face saved");
  command
      ->add_option("folder", options->folder,
                   "With config.json, model.safetensors, preprocessor and tokenizer")
      ->required();
  command->add_option("-o,--output", options->checkpoint, "The checkpoint's folder, which is made")
      ->required();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Reads Wav2Vec2ForCTC, HubertForCTC, OmniASRForCTC and ParakeetForCTC. Exit code 4: the "
      "folder lacks something, or has\n"
      "what penstock's models have not.\n\n"
      "Examples:\n"
      "  penstock import downloads/omni-300m -o omni-300m\n"
      "  penstock transcribe omni-300m prompt.wav");
  command->callback([options, &run] {
    run = on_rank_0([options] {
      print(*options, runtime::import_model(options->folder, options->checkpoint));
      return exit_done;
    });
  });
}

}  // namespace penstock::tools
