#pragma once

namespace CLI {
class Option;
}

namespace penstock {

/// Limits of a number on the command line.
struct Limits {
  double low = 0, high = 0;
};

/// The option takes whole numbers within the limits. Anything else ends with what was given, what
/// is expected and the option's name.
CLI::Option* takes_whole(CLI::Option* option, Limits limits);

/// The same for any finite numbers.
CLI::Option* takes_number(CLI::Option* option, Limits limits);

/// For --threads.
inline constexpr Limits kThreads = {1, 1024};

}  // namespace penstock
