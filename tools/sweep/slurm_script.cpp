#include "tools/sweep/slurm_script.h"

#include <fmt/format.h>

#include "base/encoded_text.h"

namespace penstock::tools {

// Lines of #SBATCH hold numbers alone, so no text of the user's can add an option to them.
std::string slurm_script(const std::vector<std::string>& command, std::size_t runs,
                         std::size_t parallel) {
  std::string words;
  for (const std::string& word : command) words += shell_word(word) + " ";
  return fmt::format(
      R"(#!/usr/bin/env bash
#SBATCH --job-name=penstock-sweep --array=1-{}%{} --time=04:00:00
#SBATCH --signal=B:USR1@300 --requeue --open-mode=append
trap 'kill -USR1 $run' USR1
trap 'cancelled=yes; kill -TERM $run' TERM
{}--only "$SLURM_ARRAY_TASK_ID" & run=$!
while kill -0 $run 2> /dev/null; do wait $run; done  # a signal interrupts wait
wait $run; code=$?
if [ "$code$cancelled" = 85 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
)",
      runs, parallel, words);
}

}  // namespace penstock::tools
