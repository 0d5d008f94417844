#include "tools/cli/recognition_options.h"

#include <CLI/CLI.hpp>

#include "tools/cli/options.h"
#include "tools/cli/verified_option.h"

namespace penstock::tools {

void takes_recognition(CLI::App* command, runtime::Trained& trained,
                       runtime::WindowBounds& window) {
  takes_whole(command->add_option("--threads", trained.threads, "Threads of each rank"), kThreads);
  takes_whole(command->add_option("--replicas", trained.replicas,
                                  "Copies of the model under mpirun, which share the recordings; "
                                  "each has ranks / replicas stages. Default: 1"),
              {1, 1 << 20});
  takes_whole(command->add_option("--window", window.utterances,
                                  "Recordings that are sorted by length at once, and written at "
                                  "once. 1 has the least delay. Default: 1024"),
              {1, 1e9});
  takes_verified(command, trained.verified);
}

}  // namespace penstock::tools
