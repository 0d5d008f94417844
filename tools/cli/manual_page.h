#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

/// A page of section 1 of the manual, in the macros of man(7).
struct ManualPage {
  std::string name;  // penstock, penstock-train, penstock-data-make
  std::string text;
};

/// Facts that a page states at its foot.
struct ManualEdition {
  std::string version;
  std::string date;  // such as 2026-11-30
};

/// Returns a page for the program and one for each of its commands, made of what --help says.
[[nodiscard]] std::vector<ManualPage> manual_pages(const CLI::App& program,
                                                   const ManualEdition& edition);

}  // namespace penstock::tools
