#pragma once

namespace CLI {
class App;
}

namespace penstock::tools {

/// Lets help be as wide as the output, of `app` and of the commands that are added to it later.
/// Examples, which begin with blanks, stay in one line.
void narrow_help(CLI::App& app);

}  // namespace penstock::tools
