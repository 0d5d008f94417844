#pragma once

#include <string>

namespace penstock::runtime {

struct HostProbe {
  std::string agent = "ssh";  // starts a command on a host: AGENT HOST COMMAND…
  std::string program;        // path of penstock, the same on every host
  std::string version;        // that it must have
  std::string token;          // of the run whose processes are ended; empty: none
};

struct HostAnswer {
  std::string fault;    // why the host can't take part; empty if it can
  std::string machine;  // its own name, which may differ from the listed one
};

/// Ends what is left of the run on that host, and checks that the host can take part: it answers
/// within 20 s, and has the same penstock. The program is called directly on this machine.
[[nodiscard]] HostAnswer probe_host(const HostProbe& probe, const std::string& host);

/// Returns the text that `penstock probe` prints, as JSON: version, machine and number of ended
/// processes.
[[nodiscard]] std::string probe_answer(const std::string& version, int ended);

/// Returns true if the name is this machine's.
[[nodiscard]] bool is_this_machine(const std::string& host);

}  // namespace penstock::runtime
