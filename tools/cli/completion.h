#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

/// A word that completes what is typed, with its meaning for shells that show one.
struct Candidate {
  std::string word, meaning;
};

/// All that may stand in the place of a word.
struct Completions {
  std::vector<Candidate> candidates = {};
  bool files = false;    // names of files and folders too
  bool folders = false;  // names of folders too
};

/// Returns the ways to complete the last of `words`, which may be empty. They follow the program's
/// name on the command line. Commands, options and their values come from the table of `program`,
/// keys from the schema, and names from the folder of configurations.
[[nodiscard]] Completions completions(const CLI::App& program, std::span<const std::string> words);

/// Returns the lines that the scripts of completion read: "WORD<tab>MEANING" for each candidate,
/// then ":files" or ":folders". A word that ends in = or . goes on, so no blank follows it.
[[nodiscard]] std::string completion_lines(const Completions& completions);

/// Returns the script of completion for "bash", "zsh" or "fish".
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace penstock::tools
