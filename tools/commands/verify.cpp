#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/job/job.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock verify` compares every byte of a checkpoint with the hashes in its manifest. Ranks
// share the bytes, and all of them learn the conclusion. It changes nothing, also if the checkpoint
// is damaged. Exit code 4: the checkpoint is damaged, incomplete or not there; the message names
// the file. There is no other report than that the checkpoint is whole: a damaged one ends in an
// error.

namespace penstock::tools {
namespace {

struct VerifyCommand {
  std::filesystem::path checkpoint;
  bool json = false;
};

void print(const VerifyCommand& options, const runtime::Checkpoint& checkpoint) {
  const std::string name = checkpoint.place().name();
  const auto tensors = std::ssize(checkpoint.tensors());
  const auto shards = static_cast<std::int64_t>(checkpoint.shard_count());
  if (options.json)
    std::cout << json_line(nlohmann::ordered_json{{"checkpoint", name},
                                                  {"step", checkpoint.state().step},
                                                  {"tensors", tensors},
                                                  {"shards", shards}});
  else
    std::cout << fmt::format("{}: step {}, {} in {}, every byte as it was written\n", name,
                             checkpoint.state().step, counted(tensors, "tensor"),
                             counted(shards, "shard"));
}

int run_verify(const VerifyCommand& options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::Checkpoint checkpoint = runtime::open_together(world, options.checkpoint);
        if (world.rank() == 0) print(options, checkpoint);
        return exit_done;
      },
      complain_in_job);
}

}  // namespace

void add_verify(CLI::App& app, Run& run) {
  const auto options = std::make_shared<VerifyCommand>();
  CLI::App* command =
      app.add_subcommand("verify", "Compare every byte of a checkpoint with its hashes");
  takes_checkpoint(command, options->checkpoint);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Runs alone, or under mpirun: any number of ranks then share the bytes. Exit code 4: the\n"
      "checkpoint is damaged.\n\n"
      "Examples:\n"
      "  penstock verify outputs/quickstart\n"
      "  mpirun -np 8 penstock verify outputs/omni-7b/checkpoint-000012000 --json");
  command->callback([options, &run] { run = [options] { return run_verify(*options); }; });
}

}  // namespace penstock::tools
