// toml++'s own definitions, which Debian has as a shared library alone. As there, nothing is
// asserted: toml++ 3.3 goes on to a parse error where an assertion of its own fails. Nothing is
// assumed either, as clang would do under NDEBUG.

#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
