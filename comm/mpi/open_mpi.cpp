#include "comm/mpi/open_mpi.h"

#include <stdlib.h>

#include <string_view>

namespace penstock::comm {
namespace {

/// Returns true if mpirun started all ranks of the job on this machine.
bool on_one_machine() {
  const char* here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const char* all = getenv("OMPI_COMM_WORLD_SIZE");
  return here != nullptr && all != nullptr && std::string_view(here) == all;
}

}  // namespace

void set_open_mpi_defaults() {
  const auto suggest = [](const char* name, const char* value) { setenv(name, value, 0); };
  suggest("OMPI_MCA_pml_ob1_send_pipeline_depth", "64");  // fragments sent per poll
  suggest("OMPI_MCA_btl_vader_max_send_size", "262144");  // bytes of a fragment in shared memory
  if (on_one_machine()) suggest("OMPI_MCA_btl", "self,vader");  // tcp and ofi would listen
}

}  // namespace penstock::comm
