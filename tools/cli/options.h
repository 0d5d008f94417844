#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "base/time_limit.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/corpus/corpus_window.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/recognise/recognise.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock::tools {

// These options are shared by several subcommands.

/// Limits of a number on the command line.
struct Limits {
  double low = 0, high = 0;
};

/// Makes the option take whole numbers within the limits. Other values raise an error with the
/// value, what is expected and the option's name.
CLI::Option* takes_whole(CLI::Option* option, Limits limits);

/// Does the same for any finite numbers.
CLI::Option* takes_number(CLI::Option* option, Limits limits);

/// Makes the option take the seed of a search, from 0 to 2^64 - 1.
CLI::Option* takes_seed(CLI::Option* option);

/// Raises ConfigError if one of the options was given, since it would be ignored: "plan: --data is
/// for a recipe with --cluster: leave it out".
void require_absent(const CLI::App& command, std::initializer_list<const char*> options,
                    const std::string& meant_for);

/// Limits of --threads.
inline constexpr Limits kThreads = {1, 1024};

/// Limits of --beam.
inline constexpr Limits kBeam = {1, 100};

/// Limits of --length-penalty.
inline constexpr Limits kLengthPenalty = {-100, 100};

inline constexpr double kTimeLimit = 30;  // seconds

/// Adds --time-limit to a command that searches.
void add_time_limit(CLI::App* command, double& seconds);

/// Returns the meaning of a limit that ended a search, for people.
[[nodiscard]] std::string words_of(const TimeLimit& limit);

/// Adds the argument that names a checkpoint, by a path or a URL, as for local_checkpoint().
void takes_checkpoint(CLI::App* command, std::filesystem::path& checkpoint);

enum class FolderUse { read, written };

/// Makes the option take a folder: it refuses URLs, since the command reads or writes folders of
/// this machine alone. The error says how to copy one from there or to there.
CLI::Option* takes_folder(CLI::Option* option, FolderUse use);

/// Adds --verify, which chooses what of a checkpoint is verified. `verified` must outlive the
/// command.
void takes_verified(CLI::App* command, runtime::Verified& verified);

/// Adds the manifests, and what to do with utterances that can't be used: --skip-bad or
/// --refuse-bad.
void takes_test_manifests(CLI::App* command, runtime::TestSet& test);

/// Adds the options of all that run a checkpoint's model on recordings: --threads, --replicas and
/// --window.
void takes_ranks(CLI::App* command, runtime::Trained& trained, runtime::WindowBounds& window);

/// Adds --chunk and --overlap.
void takes_chunks(CLI::App* command, runtime::Chunking& chunking);

/// Adds the options that evaluate and transcribe share: those of takes_ranks(), --decoder, --beam,
/// --nbest, --length-penalty, --ctc-weight, --verify, and those of takes_ctc_decoding().
void takes_recognition(CLI::App* command, runtime::Trained& trained, runtime::WindowBounds& window);

}  // namespace penstock::tools
