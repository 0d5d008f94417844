#include "comm/mpi/open_mpi.h"

#include <stdlib.h>

namespace penstock::comm {

void suit_open_mpi() {
  const auto suggest = [](const char* name, const char* value) { setenv(name, value, 0); };
  suggest("OMPI_MCA_pml_ob1_send_pipeline_depth", "64");  // parts that leave at one poll
  suggest("OMPI_MCA_btl_vader_max_send_size", "262144");  // bytes of a part, by shared memory
}

}  // namespace penstock::comm
