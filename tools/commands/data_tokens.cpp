#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "configs/text_rules.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/text/sentence_pieces.h"
#include "runtime/text/tokenizer.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"

// `penstock data tokens` checks that the output can be written, reads all transcripts, brings them
// into the form in which text.normalise, .fold and .remove leave them, trains a SentencePiece model
// on them, and writes its file at once, at the end. It opens no audio. The same transcripts and
// options give the same bytes.
//
// Exit code 3: a transcript can't be used; all of them are listed, and nothing is written. Exit
// code 2: the transcripts do not allow so many pieces, or the file can't be written.

namespace penstock::tools {
namespace {

struct TokenOptions {
  std::string manifest, output;
  configs::TextConfig text = {};
  runtime::PieceTraining training;
};

/// Returns the transcripts of a manifest, in the form that encoding takes. All of them must be
/// valid.
std::vector<std::string> texts_of(const TokenOptions& options) {
  runtime::Faults faults;
  const configs::TextRules rules = configs::text_rules(options.text);
  std::vector<std::string> texts;
  for (const runtime::ManifestEntry& entry : runtime::read_named(options.manifest, faults)) try {
      texts.push_back(to_utf8(runtime::folded_text(entry.text, rules)));
    } catch (const DataError& error) {
      faults.add(entry.where, error.what());
    }
  faults.require_none(
      fmt::format("{}: {} cannot be used", options.manifest, counted(faults.size(), "transcript")),
      "Correct them, or leave them out.");
  return texts;
}

/// Pieces are learned from folded texts, so a recipe that uses them needs the same rules in [text].
int tokens(const TokenOptions& options) {
  check_outputs({{"--output", options.output}}, {{"the manifest", options.manifest}});
  const std::vector<std::string> texts = texts_of(options);
  write_output(options.output, runtime::train_pieces(texts, options.training));
  std::cout << fmt::format("{}: {} of kind {}, from {}\n", options.output,
                           counted(options.training.pieces, "piece"), options.training.kind,
                           counted(texts.size(), "transcript"));
  return exit_done;
}

}  // namespace

void add_data_tokens(CLI::App& data, Run& run) {
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* command =
      data.add_subcommand("tokens", "Train a SentencePiece model on transcripts, for text.model");
  command
      ->add_option("manifest", options->manifest,
                   "A manifest of any format, or a LibriSpeech folder; its audio is not read")
      ->required();
  command->add_option("-o,--output", options->output, "The .model file to write")->required();
  takes_whole(command->add_option("--pieces", options->training.pieces,
                                  "Pieces of the model, <unk> included"),
              {2, 1000000})
      ->required();
  command->option_defaults()->always_capture_default();
  command->add_option("--kind", options->training.kind, "How pieces are chosen")
      ->check(CLI::IsMember({"unigram", "bpe"}));
  command
      ->add_option("--normalise", options->text.normalise,
                   "Unicode normalisation form of transcripts, as text.normalise")
      ->check(CLI::IsMember({"none", "nfc", "nfkc"}));
  command->add_option("--fold", options->text.fold, "Case to convert transcripts to, as text.fold")
      ->check(CLI::IsMember({"lower", "upper", "unicode-lower", "unicode-upper", "none"}));
  command->add_option("--remove", options->text.remove,
                      "Characters that transcripts lose, as text.remove");
  command->callback([options, &run] { run = on_rank_0([options] { return tokens(*options); }); });
}

}  // namespace penstock::tools
