#include "tools/cli/completion.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "tools/cli/launch.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"

// `penstock completion SHELL` prints the script that makes a shell complete penstock's command
// lines.

namespace penstock::tools {

void add_completion(CLI::App& app, Run& run) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print the script by which a shell completes commands, options and keys");
  command->add_option("shell", *shell, "The shell that reads the script")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  command->footer(
      "Packages and cmake --install put it where shells find it. Else one of these lines loads "
      "it.\n\n"
      "Examples:\n"
      "  source <(penstock completion bash)\n"
      "  penstock completion zsh > ~/.zfunc/_penstock\n"
      "  penstock completion fish > ~/.config/fish/completions/penstock.fish");
  command->callback([shell, &run] {
    run = on_rank_0([shell] {
      std::cout << completion_script(*shell);
      return exit_done;
    });
  });
}

}  // namespace penstock::tools
