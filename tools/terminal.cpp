#include "tools/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace penstock::tools {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool wants_colour() {
  return isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

}  // namespace penstock::tools
