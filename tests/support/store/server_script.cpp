#include "tests/support/store/server_script.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "tests/support/tree/sources.h"

extern char** environ;

namespace penstock::test {
namespace {

/// Reads the server's output up to the end of a line.
std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; ::read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

ServerScript::ServerScript(const std::string& path, const std::string& word) {
  std::array<int, 2> in = {}, out = {};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  const std::string script = source(path).string();
  std::array<char*, 4> words = {const_cast<char*>("python3"), const_cast<char*>(script.c_str()),
                                const_cast<char*>(word.c_str()), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  const bool runs = posix_spawnp(&child_, words[0], &files, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  line_ = runs ? read_line(out[0]) : "";
  ::close(out[0]);
}

ServerScript::~ServerScript() {
  ::close(input_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

}  // namespace penstock::test
