#pragma once

#include <initializer_list>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock::tools {

/// Limits of a number on the command line.
struct Limits {
  double low = 0, high = 0;
};

/// The option takes whole numbers within the limits. Anything else ends with what was given, what
/// is expected and the option's name.
CLI::Option* takes_whole(CLI::Option* option, Limits limits);

/// The same for any finite numbers.
CLI::Option* takes_number(CLI::Option* option, Limits limits);

/// The option takes the seed of a search, from 0 up to what 64 bits hold.
CLI::Option* takes_seed(CLI::Option* option);

/// ConfigError where one of the options was given, which would be left unheard: "plan: --data is
/// for a recipe with --cluster: leave it out".
void require_absent(const CLI::App& command, std::initializer_list<const char*> options,
                    const std::string& meant_for);

/// For --threads.
inline constexpr Limits kThreads = {1, 1024};

}  // namespace penstock::tools
