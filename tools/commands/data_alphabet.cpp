#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/text/fit_text.h"
#include "runtime/text/tokenizer.h"
#include "tools/cli/launch.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock data alphabet` reads the transcripts of all manifests, counts their characters, and
// prints the [text] overrides with which each of them can be encoded (runtime::fit_text()). It
// opens no audio and writes no file. Lines that can't be used are listed on standard error and left
// out. Exit code 3: a manifest can't be read, or no line is left.

namespace penstock::tools {
namespace {

constexpr std::size_t kShown = 200;  // characters

struct AlphabetOptions {
  std::vector<std::string> manifests;
  bool json = false;
};

/// Returns the transcripts of all manifests. It lists lines that can't be used on standard error.
std::vector<std::string> transcripts_of(const std::vector<std::string>& manifests) {
  std::vector<std::string> texts;
  for (const std::string& manifest : manifests) {
    runtime::Faults faults;
    for (runtime::ManifestEntry& entry : runtime::read_named(manifest, faults))
      texts.push_back(std::move(entry.text));
    if (!faults.empty())
      std::cerr << fmt::format("left out: {} of {}:{}\n", counted(std::ssize(faults.all()), "line"),
                               manifest, faults.listed());
  }
  if (texts.empty())
    throw DataError(fmt::format("{}: no transcripts: name a manifest that has some",
                                fmt::join(manifests, ", ")));
  return texts;
}

/// Formats the most frequent characters, and the overrides on a line of their own, to be copied.
std::string alphabet_text(const AlphabetOptions& options, const runtime::FittedText& fitted) {
  std::string text =
      fmt::format("{}: {}, {}\n{}", fmt::join(options.manifests, ", "),
                  counted(fitted.transcripts, "transcript"),
                  counted(std::ssize(fitted.characters), "character"),
                  output_line(runtime::describe_characters(fitted.characters, kShown)));
  return text + fmt::format("These overrides fit {}:\n  {}\n",
                            fitted.transcripts == 1 ? "it" : "all of them",
                            runtime::text_overrides(fitted.text, {}));
}

/// Formats all characters, each with the number of transcripts that have it. "overrides" is the
/// text of the command line, and "text" has the same values by key.
std::string alphabet_json(const AlphabetOptions& options, const runtime::FittedText& fitted) {
  nlohmann::ordered_json json{{"manifests", options.manifests},
                              {"transcripts", fitted.transcripts},
                              {"characters", nlohmann::ordered_json::object()}};
  for (const auto& [character, transcripts] : fitted.characters)
    json["characters"][to_utf8({&character, 1})] = transcripts;
  json["text"] = {{"alphabet", fitted.text.alphabet},
                  {"normalise", fitted.text.normalise},
                  {"fold", fitted.text.fold},
                  {"remove", fitted.text.remove}};
  json["overrides"] = runtime::text_overrides(fitted.text, {});
  return json_line(json);
}

/// Keeps all transcripts in memory: fit_text() asks for them twice.
int alphabet(const AlphabetOptions& options) {
  const std::vector<std::string> texts = transcripts_of(options.manifests);
  const runtime::FittedText fitted = runtime::fit_text(
      [&](const auto& use) {
        for (const std::string& text : texts) use(text);
      },
      {});
  std::cout << (options.json ? alphabet_json(options, fitted) : alphabet_text(options, fitted));
  return exit_done;
}

}  // namespace

void add_data_alphabet(CLI::App& data, Run& run) {
  const auto options = std::make_shared<AlphabetOptions>();
  CLI::App* command = data.add_subcommand(
      "alphabet", "Print the characters of transcripts, and the overrides of [text] that fit them");
  command
      ->add_option("manifests", options->manifests,
                   "Manifests and folders of any format; their audio is not read")
      ->required();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &run] { run = on_rank_0([options] { return alphabet(*options); }); });
}

}  // namespace penstock::tools
