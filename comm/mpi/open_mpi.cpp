#include "comm/mpi/open_mpi.h"

#include <stdlib.h>

#include "comm/join.h"

namespace penstock::comm {

void set_open_mpi_defaults() {
  const auto suggest = [](const char* name, const char* value) { setenv(name, value, 0); };
  suggest("OMPI_MCA_pml_ob1_send_pipeline_depth", "64");  // fragments sent per poll
  suggest("OMPI_MCA_btl_vader_max_send_size", "262144");  // bytes of a fragment in shared memory
  if (is_job_on_one_machine()) suggest("OMPI_MCA_btl", "self,vader");  // tcp and ofi would listen
}

}  // namespace penstock::comm
