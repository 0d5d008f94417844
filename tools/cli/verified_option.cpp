#include "tools/cli/verified_option.h"

#include <CLI/CLI.hpp>
#include <string>

namespace penstock::tools {

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

}  // namespace penstock::tools
