#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/quantities.h"
#include "tools/cli/launch.h"
#include "tools/cli/manual_page.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"

// `penstock manual FOLDER` writes the manual pages of all commands. The rules of installation call
// it, so pages and program are always of one version.

namespace penstock::tools {
namespace {

int write_manual(const CLI::App& program, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw ConfigError(
        fmt::format("the folder {} can't be made: {}", folder.string(), error.message()));
  const std::vector<ManualPage> pages =
      manual_pages(program, {.version = PENSTOCK_VERSION, .date = PENSTOCK_DATE});
  for (const ManualPage& page : pages)
    write_output((folder / (page.name + ".1")).string(), page.text);
  std::cout << fmt::format("{} in {}\n", counted(std::ssize(pages), "page"), folder.string());
  return exit_done;
}

}  // namespace

void add_manual(CLI::App& app, Run& run) {
  const auto folder = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand("manual", "Write manual pages of all commands, for man");
  takes_folder(
      command->add_option("folder", *folder, "The folder to write to, which is made if need be"),
      FolderUse::written)
      ->required();
  command->footer(
      "Packages and cmake --install bring the pages: man penstock, man penstock-train.\n\n"
      "Examples:\n"
      "  penstock manual ~/.local/share/man/man1");
  command->callback([&app, folder, &run] {
    run = on_rank_0([&app, folder] { return write_manual(app, *folder); });
  });
}

}  // namespace penstock::tools
