#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_match.h"
#include "configs/config.h"
#include "configs/write.h"
#include "layers/models/families.h"
#include "runtime/supervisor/stop_requests.h"
#include "tools/cli/completion.h"
#include "tools/cli/escaped_stream.h"
#include "tools/cli/launch.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace penstock::tools {
namespace {

/// Blocks the stop signals for `train`, `run` and `sweep`, the commands that take them as requests.
/// OpenBLAS starts threads when it is loaded, and threads keep the mask with which they start. The
/// linker runs the functions in section .preinit_array before any library initialises.
void before_libraries(int argc, char** argv, char**) {
  if (argc < 2) return;
  const std::string_view command = argv[1];
  if (command == "train") block_stop_signals();
  if (command == "run" || command == "sweep") runtime::block_supervisor_signals();
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const run_before_libraries)(int, char**, char**) = before_libraries;

/// Returns the message for a first word that is no subcommand, or "". CLI11 would only report that
/// a subcommand is missing.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string word = argv[1];
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return {};
    names.push_back(command->get_name());
  }
  const std::string near = nearest(word, names);
  const std::string guess = near.empty() ? "" : fmt::format("; did you mean {}?", near);
  return fmt::format("unknown command {}{}\npenstock --help lists the commands", word, guess);
}

/// Returns the output of --help and --version. --keys has printed already.
std::string answer_of(const CLI::App& app, const CLI::ParseError& asked) {
  if (asked.get_name() == "CallForHelp") return app.help();
  return asked.get_name() == "CallForVersion" ? fmt::format("{}\n", asked.what()) : "";
}

/// Answers a shell's script of completion. A line that is still being typed can't be parsed.
int answer_completion(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  std::cout << completion_lines(completions(app, words));
  return exit_done;
}

/// Parses the command line. Returns the exit code if it has answered --help and the like or has
/// complained, or -1 if `run` is to be called.
int parse(CLI::App& app, int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "__complete")
    return answer_completion(app, argc, argv);
  if (const std::string fault = unknown_command(app, argc, argv); !fault.empty()) {
    report_error(fault, true);
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      report_error(CLI::FailureMessage::simple(&app, e), true);
      return exit_usage;
    }
    if (launched_rank() == 0) std::cout << answer_of(app, e);
    return exit_done;
  }
  return -1;
}

/// Adds all subcommands, parses the command line, which chooses one, and runs it. Errors that reach
/// this place have not been reported yet.
int penstock_main(int argc, char** argv) {
  CLI::App app("Train speech recognisers in pipeline stages and data-parallel replicas.",
               "penstock");
  narrow_help(app);
  app.require_subcommand(1);
  app.set_version_flag("--version", "penstock " PENSTOCK_VERSION);
  app.add_flag_callback(
      "--keys",
      [] {
        std::cout << configs::config_reference(layers::model_families());
        throw CLI::Success();
      },
      "List every configuration key, in Markdown");
  app.footer("penstock COMMAND --help explains a command.");
  Run run;
  for (const auto add :
       {add_plan,       add_train,  add_run,   add_watch,  add_report,     add_evaluate,
        add_transcribe, add_align,  add_tune,  add_sweep,  add_import,     add_export,
        add_average,    add_data,   add_info,  add_verify, add_bench,      add_schedule,
        add_profile,    add_search, add_trace, add_probe,  add_completion, add_manual})
    add(app, run);
  set_up_logging();
  if (const int answered = parse(app, argc, argv); answered >= 0) return answered;
  try {
    return run();
  } catch (const std::exception& e) {
    return complain_of(e);
  }
}

}  // namespace
}  // namespace penstock::tools

int main(int argc, char** argv) {
  const penstock::tools::EscapedStream out(std::cout), err(std::cerr);
  return penstock::tools::penstock_main(argc, argv);
}
