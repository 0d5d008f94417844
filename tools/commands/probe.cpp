#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "runtime/supervisor/host_probe.h"
#include "runtime/supervisor/mpi_job.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"

// `penstock probe` answers a supervisor on another host: it says this host's version, and ends what
// is left of a run here. It writes nothing.

namespace penstock::tools {

void add_probe(CLI::App& app, Run& run) {
  auto token = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("probe", "Say that this host can take part in a supervised run");
  command->add_option("--end-job", *token,
                      "End the processes of the run in this output folder, given as an absolute "
                      "path");
  command->footer(
      "penstock run calls it on every host before each start.\n\nExamples:\n"
      "  penstock probe\n"
      "  ssh node-2 penstock probe --end-job /data/outputs/run");
  command->callback([token, &run] {
    run = [token] {
      const int ended = token->empty() ? 0 : runtime::end_processes(*token);
      std::cout << runtime::probe_answer(PENSTOCK_VERSION, ended);
      return exit_done;
    };
  });
}

}  // namespace penstock::tools
