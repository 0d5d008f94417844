#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "tools/cli/escaped_stream.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/reports/run_overview.h"

// `penstock watch` shows a run by the files in its output folder, from any machine that sees them.
// It writes nothing. Ctrl-C ends it, and it ends by itself with the run.

namespace penstock::tools {
namespace {

struct WatchArguments {
  std::string output;
  bool once = false;
  double seconds = 1;
};

constexpr const char* kHome = "\033[H\033[J";  // clears a terminal

int run_watch(const WatchArguments& arguments) {
  for (;;) {
    const std::string text = run_overview(arguments.output, output_columns());
    std::cout << text << std::flush;
    if (arguments.once || text.starts_with("state                 ended")) return exit_done;
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.seconds));
    if (wants_colour())
      std::cout << Unescaped{kHome};
    else
      std::cout << '\n';
  }
}

}  // namespace

void add_watch(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<WatchArguments>();
  CLI::App* command = app.add_subcommand("watch", "Show the progress of a run");
  command->add_option("OUTPUT", arguments->output, "Its trainer.output")
      ->type_name("FOLDER")
      ->required();
  command->add_flag("--once", arguments->once, "Show it once and end");
  command->option_defaults()->always_capture_default();
  takes_number(command->add_option("--seconds", arguments->seconds, "Time between two looks"),
               {0.1, 3600});
  command->footer(
      "For machines, the output folder has status.json, incidents.jsonl, and metrics.prom in\n"
      "Prometheus' text format.\n\nExamples:\n"
      "  penstock watch outputs/run\n"
      "  penstock watch outputs/run --once");
  command->callback([arguments, &run] { run = [arguments] { return run_watch(*arguments); }; });
}

}  // namespace penstock::tools
