// toml++'s own definitions, which Debian has as a shared library alone.

#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
