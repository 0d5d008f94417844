#include "runtime/huggingface/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock import` converts a folder that transformers saved to a checkpoint of step 0. It reads
// configuration, weights, preprocessor and tokenizer, and writes a new folder, which appears once
// it is complete. The folder that it reads stays as it is, and an existing output is not touched.
//
// The report is more than numbers: an imported model may lack letters, rows or whole parts, which
// would be noticed only much later, in transcripts. Exit code 4: the folder lacks something, has
// what no model of penstock has, or the output is there already. Exit code 2: labels were given for
// a model that has a head, or none for one that has not, or a language or an adapter for the
// latter.

namespace penstock::tools {
namespace {

constexpr std::size_t kShownTokens = 8;

struct ImportOptions {
  std::filesystem::path folder, checkpoint;
  std::vector<std::string> words;
  runtime::ImportChoices choices;
  bool json = false;
};

/// Returns the labels of a new head, if any are given. ConfigError for keys outside [text].
std::optional<configs::TextConfig> text_of_words(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (!word.starts_with("text.") || word.find('=') == std::string::npos)
      throw ConfigError(fmt::format(
          "{}: an import takes text.KEY=VALUE alone, for a model without a head", word));
  if (words.empty()) return std::nullopt;
  return configs::parse_config("", "command line", layers::model_families(), words).text;
}

/// Returns the line that says what an adapter changes; "" without one.
std::string adapter_text(const runtime::ImportReport& report) {
  if (report.adapted == 0) return "";
  return fmt::format("{} {}\n", counted(report.adapted, "layer has", "layers have"),
                     report.rank > 0 ? fmt::format("an adapter of rank {}", report.rank)
                                     : std::string("a merged adapter"));
}

/// Prints which tokens transcripts show by stand-ins, if any.
void print_stand_ins(const runtime::ImportReport& report) {
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

/// Prints the report. The first line says what was imported, and each further one what a user
/// should know of it.
void print(const ImportOptions& options, const runtime::ImportReport& report) {
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"architecture", report.architecture},
                                                  {"parameters", report.parameters},
                                                  {"labels", report.labels},
                                                  {"without_letter", report.without_letter},
                                                  {"beyond_head", report.beyond_head},
                                                  {"new_tensors", report.new_tensors},
                                                  {"language", report.language},
                                                  {"languages", report.languages},
                                                  {"no_prompt", report.no_prompt},
                                                  {"no_pieces", report.no_pieces},
                                                  {"new_head", report.new_head},
                                                  {"left_out", report.left_out},
                                                  {"adapted", report.adapted},
                                                  {"rank", report.rank},
                                                  {"checkpoint", options.checkpoint.string()}});
    return;
  }
  std::cout << fmt::format("{} with {} and {} is now {}\n", report.architecture,
                           counted(report.parameters, "number"), counted(report.labels, "label"),
                           options.checkpoint.string());
  if (report.new_head)
    std::cout << fmt::format("the head is new, for {}: train it\n",
                             counted(report.labels, "label"));
  if (!report.left_out.empty())
    std::cout << output_line(fmt::format("left out, since only pre-training uses them: {}",
                                         fmt::join(report.left_out, " ")));
  std::cout << adapter_text(report);
  if (!report.language.empty())
    std::cout << fmt::format("it recognises the language {}\n", report.language);
  if (!report.languages.empty())
    std::cout << fmt::format("utterances of {} have the prompt of their language\n",
                             fmt::join(report.languages, ", "));
  if (report.no_prompt)
    std::cout << fmt::format(
        "its prompt names no language: import with --language CODE, such as {}\n", report.such_as);
  if (!report.new_tensors.empty())
    std::cout << output_line(
        fmt::format("the folder lacks {}, which starts anew", fmt::join(report.new_tensors, ", ")));
  if (!report.beyond_head.empty())
    std::cout << fmt::format(
        "the tokenizer has tokens for which the head has no row, and which are never recognised: "
        "{}\n",
        fmt::join(report.beyond_head, " "));
  print_stand_ins(report);
}

void takes_languages(CLI::App* command, runtime::ImportChoices& choices) {
  command->add_option("--language", choices.language,
                      "Of MMS: the language whose adapter.LANGUAGE.safetensors is read. Of a "
                      "language model or attention decoder: the one that its prompt names");
  command
      ->add_option("--languages", choices.languages,
                   "Of these decoders: languages whose utterances have a prompt of their own, by "
                   "the manifest's language, such as en,de")
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace

void add_import(CLI::App& app, Run& run) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "Make a checkpoint of a model that transformers of Hugging Face saved");
  takes_folder(command->add_option("folder", options->folder,
                                   "With config.json, model.safetensors, preprocessor and "
                                   "tokenizer"),
               FolderUse::read)
      ->required();
  takes_folder(command->add_option("-o,--output", options->checkpoint,
                                   "The checkpoint's folder, which is made"),
               FolderUse::written)
      ->required();
  command
      ->add_option("labels", options->words,
                   "text.KEY=VALUE: the labels of a new head, for a model that was only "
                   "pre-trained")
      ->type_name("text.KEY=VALUE");
  takes_languages(command, options->choices);
  CLI::Option* const adapter = command->add_option(
      "--adapter", options->choices.adapter, "A folder with a LoRA adapter of PEFT for the model");
  command->add_flag("--merge", options->choices.merge, "Add the adapter to the weights")
      ->needs(adapter);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Reads Wav2Vec2ForCTC, HubertForCTC, Wav2Vec2BertForCTC, OmniASRForCTC,\n"
      "OmniASRForConditionalGeneration, Qwen3ASRForConditionalGeneration, ParakeetForCTC,\n"
      "ParakeetForRNNT, ParakeetForTDT, WhisperForConditionalGeneration,\n"
      "CanaryForConditionalGeneration and CohereAsrForConditionalGeneration.\n"
      "With a new head it reads Wav2Vec2ForPreTraining, Wav2Vec2Model, HubertModel and\n"
      "Wav2Vec2BertModel. Exit code 4: the folder lacks something, or has what penstock's models\n"
      "have not.\n\n"
      "Examples:\n"
      "  penstock import downloads/omni-300m -o omni-300m\n"
      "  penstock transcribe omni-300m prompt.wav\n"
      "  penstock import downloads/omni-300m --adapter downloads/my-lora -o adapted\n"
      "  penstock import downloads/xls-r-300m -o xls-r text.alphabet=\" "
      "abcdefghijklmnopqrstuvwxyz\"");
  command->callback([options, &run] {
    run = on_rank_0([options] {
      runtime::ImportChoices choices = options->choices;
      choices.text = text_of_words(options->words);
      if (choices.language.empty() && !choices.languages.empty())
        choices.language = choices.languages.front();
      print(*options, runtime::import_model(options->folder, options->checkpoint, choices));
      return exit_done;
    });
  });
}

}  // namespace penstock::tools
