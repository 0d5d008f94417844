#pragma once

namespace penstock::tools {

/// Whether standard output is a terminal whose user wants colours: NO_COLOR is empty, TERM is not
/// dumb.
[[nodiscard]] bool wants_colour();

}  // namespace penstock::tools
