#include "tools/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "runtime/data/remote/remote_url.h"
#include "tools/cli/ctc_options.h"

namespace penstock::tools {
namespace {

/// Returns true if a whole number has leading zeros, which would make it octal.
bool octal(const std::string& text) {
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  return text.size() > digits + 1 && text[digits] == '0';
}

/// Returns true if the whole `text` is a Number within the limits.
template <class Number>
bool fits(const std::string& text, Limits limits) {
  Number number{};
  if (std::is_integral_v<Number> && octal(text)) return false;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const auto value = static_cast<double>(number);
  return error == std::errc() && rest == end && value >= limits.low && value <= limits.high;
}

/// Adds a check to the option, with its limits in the help. The check sees the text before CLI11
/// converts it, so a whole number with a point or an exponent is refused and not rounded.
template <class Number>
CLI::Option* takes(CLI::Option* option, const char* kind, Limits limits) {
  const auto check = [kind, limits](const std::string& text) {
    return fits<Number>(text, limits)
               ? std::string()
               : fmt::format("takes {} from {} to {}, not {}", kind, limits.low, limits.high, text);
  };
  return option->check(check, fmt::format("[{} - {}]", limits.low, limits.high));
}

}  // namespace

CLI::Option* takes_whole(CLI::Option* option, Limits limits) {
  return takes<std::int64_t>(option, "a whole number", limits);
}

// A seed has 64 bits, of which a double keeps 53, so takes() can't check it.
CLI::Option* takes_seed(CLI::Option* option) {
  const auto check = [](const std::string& text) {
    std::uint64_t seed = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, seed);
    return error == std::errc() && rest == end && !octal(text)
               ? std::string()
               : fmt::format("takes a whole number from 0 to {}, not {}",
                             std::numeric_limits<std::uint64_t>::max(), text);
  };
  return option->check(check, "[0 - 2^64)");
}

// An option that is ignored would leave its user with a result of other settings.
void require_absent(const CLI::App& command, std::initializer_list<const char*> options,
                    const std::string& meant_for) {
  for (const char* option : options)
    if (command.count(option) > 0)
      throw ConfigError(
          fmt::format("{}: {} is for {}: leave it out", command.get_name(), option, meant_for));
}

CLI::Option* takes_number(CLI::Option* option, Limits limits) {
  return takes<double>(option, "a number", limits);
}

void add_time_limit(CLI::App* command, double& seconds) {
  constexpr double kMax = 1e6;
  takes_number(command->add_option(
                   "--time-limit", seconds,
                   fmt::format("End the search after so many seconds, with the best plan so far. "
                               "Default: {:g}",
                               kTimeLimit)),
               {0, kMax});
}

std::string words_of(const TimeLimit& limit) {
  return fmt::format(
      "--time-limit {:g} ended it: this is the best plan so far, and a longer search may find a "
      "better one",
      limit.seconds());
}

void takes_checkpoint(CLI::App* command, std::filesystem::path& checkpoint) {
  command
      ->add_option("checkpoint", checkpoint,
                   "A checkpoint's folder, an output folder (its newest checkpoint), or its BEST; "
                   "or a URL of one of these")
      ->type_name("FOLDER|URL")
      ->required();
}

CLI::Option* takes_folder(CLI::Option* option, FolderUse use) {
  const auto check = [use](const std::string& text) {
    if (!runtime::is_remote_url(text)) return std::string();
    const bool read = use == FolderUse::read;
    std::string refusal =
        fmt::format("takes a folder of this machine, not {}: {}", runtime::without_query(text),
                    read ? "copy it first" : "name one, and copy it afterwards");
    if (text.starts_with("s3://"))
      refusal += fmt::format(", as by\n  aws s3 cp --recursive {} {}", read ? text : "FOLDER",
                             read ? "FOLDER" : text);
    return refusal;
  };
  return option->type_name("FOLDER")->check(check, "");
}

void takes_verified(CLI::App* command, runtime::Verified& verified) {
  command
      ->add_option_function<std::string>(
          "--verify",
          [&verified](const std::string& word) {
            verified = word == "read" ? runtime::Verified::read : runtime::Verified::all;
          },
          "What of the checkpoint is compared with its hashes: every byte, or only what this "
          "command reads. Default: all")
      ->check(CLI::IsMember({"all", "read"}));
}

namespace {

/// Adds what the beam search of a decoder that writes texts scores by.
void takes_scores(CLI::App* command, layers::DecodingOptions& decoding) {
  takes_number(command->add_option("--length-penalty", decoding.length_penalty,
                                   "Beam search of a decoder that writes texts: scores are divided "
                                   "by the text's length to this power. Default: 1"),
               kLengthPenalty);
  takes_number(command->add_option("--ctc-weight", decoding.ctc_weight,
                                   "Beam search of an attention decoder: share of CTC in the "
                                   "scores. Default: decoder.ctc_weight"),
               {0, 1});
}

}  // namespace

// Neither flag leaves the choice to the training's recipe, so three states are needed. CLI11 treats
// an optional<bool> as a counter, and would set it to 0 without the flag.
void takes_test_manifests(CLI::App* command, runtime::TestSet& test) {
  command->add_option("manifests", test.manifests, "Manifests: utterances with transcripts")
      ->required();
  CLI::Option* skip = command->add_flag_callback(
      "--skip-bad", [&test] { test.skip_bad = true; },
      "Leave out and count utterances that can't be used. Default: as the training's "
      "data.bad_utterances says");
  command
      ->add_flag_callback(
          "--refuse-bad", [&test] { test.skip_bad = false; },
          "Refuse a manifest with utterances that can't be used")
      ->excludes(skip);
}

void takes_ranks(CLI::App* command, runtime::Trained& trained, runtime::WindowBounds& window) {
  takes_whole(command->add_option("--threads", trained.threads, "Threads of each rank"), kThreads);
  takes_whole(command->add_option("--replicas", trained.replicas,
                                  "Copies of the model under mpirun, which share the recordings; "
                                  "each has ranks / replicas stages. Default: 1"),
              {1, 1 << 20});
  takes_whole(command->add_option("--window", window.utterances,
                                  "Recordings that are sorted by length at once, and written at "
                                  "once. 1 has the least delay. Default: 1024"),
              {1, 1e9});
}

void takes_chunks(CLI::App* command, runtime::Chunking& chunking) {
  CLI::Option* chunk = takes_number(
      command->add_option("--chunk", chunking.seconds,
                          "Seconds of audio that the model hears at once of longer recordings, "
                          "such as 30. CTC decodes the joined frames as one; for other decoders "
                          "recordings are cut at pauses. Default: recordings are heard whole"),
      {0.01, 1e6});
  takes_number(command->add_option("--overlap", chunking.overlap,
                                   "Seconds that neighbouring chunks share; each counts half of "
                                   "them. Default: a third of --chunk"),
               {0, 1e6})
      ->needs(chunk);
}

void takes_recognition(CLI::App* command, runtime::Trained& trained,
                       runtime::WindowBounds& window) {
  takes_ranks(command, trained, window);
  command->add_option("--decoder", trained.decoder,
                      "ctc: decode by the CTC that decoder.ctc_weight trained beside another "
                      "decoder. Default: the model's decoder");
  command->add_option("--language", trained.language,
                      "One of decoder.languages, whose prompt all utterances get. Default: that of "
                      "the manifest's language, or decoder.prompt");
  takes_whole(command->add_option("--beam", trained.decoding.beam,
                                  "Hypotheses of a beam search. Default: 1, greedy decoding"),
              kBeam);
  takes_whole(command->add_option("--nbest", trained.decoding.nbest,
                                  "Texts of each utterance to report with their scores, up to "
                                  "--beam"),
              kBeam);
  takes_scores(command, trained.decoding);
  takes_ctc_decoding(command, trained.ctc);
  takes_verified(command, trained.verified);
}

}  // namespace penstock::tools
