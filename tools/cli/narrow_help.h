#pragma once

namespace CLI {
class App;
}

namespace penstock::tools {

/// Wraps the help of `app`, and of the commands that are added to it later, to the width of the
/// output. Examples, which begin with blanks, stay in one line.
void narrow_help(CLI::App& app);

}  // namespace penstock::tools
